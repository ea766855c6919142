import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import packageJson from '../../package.json' with { type: 'json' };
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');

t.test('the pages of the library are made without a warning', async (t) => {
  const output = join(temporaryDirectory(t), 'api');
  const typedoc = join(root, 'node_modules/typedoc/bin/typedoc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [typedoc, '--out', output], {
    cwd: root,
    encoding: 'utf8',
  });
  t.equal(status, 0, `${stdout}${stderr}`);
  t.notMatch(stdout + stderr, /warning/i);
  t.match(readFileSync(join(output, 'classes/Mounter.html'), 'utf8'), 'asyncDispose');
  t.equal(packageJson.scripts['docs:api'], 'typedoc');
});
