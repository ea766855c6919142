import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';
import { consoleSections, patternOf } from './console.ts';

const root = join(import.meta.dirname, '../..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
const mark = '--- next command ---';

t.test('patterns', async (t) => {
  const pattern = patternOf(['A  B … END', '…', 'last 1.0']);
  t.match('A B x y END\nany\nthing\nlast  1.0\n', pattern);
  t.notMatch('A C x END\nlast 1.0\n', pattern);
  t.notMatch('A B x END\nlast 1x0\n', pattern);
  t.notMatch('A B x END\nlast 1.0\nmore\n', pattern);
  t.match('', patternOf([]));
  t.notMatch('something\n', patternOf([]));
});

t.test(
  'the commands of the pages print what the pages say',
  { skip: skipUnless('root', 'unshare', 'setpriv', 'losetup') },
  async (t) => {
    const sections = pages
      .filter((page) => page.endsWith('.md'))
      .flatMap((page) => consoleSections(join(root, page)));
    t.ok(sections.length >= 5);
    for (const { heading, sandbox, commands } of sections) {
      if (sandbox === undefined) throw new Error(`"${heading}" does not say in which sandbox`);
      const script = commands.map(({ command }) => `${command}\necho '${mark}'\n`).join('');
      const { stdout } = spawnSync(
        process.execPath,
        [join(root, 'scripts/sandbox.ts'), sandbox, 'sh', '-c', `exec 2>&1\n${script}`],
        { encoding: 'utf8', timeout: 120_000, env: { ...process.env, LC_ALL: 'C' } },
      );
      const printed = stdout.split(`${mark}\n`);
      t.equal(printed.length, commands.length + 1, `${heading}: ${printed.at(-1)}`);
      for (const [index, { command, output }] of commands.entries()) {
        t.match(printed[index] ?? '', patternOf(output), `${heading}: ${command}`);
      }
    }
  },
);
