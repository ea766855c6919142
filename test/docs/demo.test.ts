import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { columns, terminalPicture } from '../../scripts/demo-picture/terminal-picture.ts';
import { skipUnless } from '../support/requirements.ts';

const root = join(import.meta.dirname, '../..');

/**
 * How the lines of a picture after those of the build begin, sorted, without what is another each time: numbers,
 * temporary folders.
 */
function shape(svg: string): string[] {
  return Array.from(demonstration(svg).matchAll(/<text [^>]*>(.*)<\/text>/g), ([, line = '']) =>
    line
      .replace(/<[^>]+>/g, '')
      .replace(/container-disk-demo-\w{6}/g, '…')
      .replace(/\s+\(cached\)$/, '')
      .replace(/[0-9a-f]*\d[0-9a-f.:-]*/g, '#')
      .replace(/\s+/g, ' ')
      .slice(0, 40)
      .trim(),
  ).sort();
}

function demonstration(svg: string): string {
  const start = svg.indexOf('A node, and a launcher pod');
  if (start === -1) throw new Error('the picture has no chapter of the launcher pod');
  return svg.slice(start);
}

t.test(
  'the demo, and its picture in the README',
  { skip: skipUnless('root', 'g++', 'unshare', 'setpriv', 'losetup') },
  async (t) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, 'scripts/demo.ts')],
      { encoding: 'utf8' },
    );
    t.equal(status, 0, stdout + stderr);
    t.match(stdout, /^All \d+ checks were right\.$/m);
    const committed = readFileSync(join(root, 'docs/demo.svg'), 'utf8');
    t.strictSame(
      shape(committed),
      shape(terminalPicture('npm run demo', stdout)),
      'npm run demo:picture makes it anew',
    );
    t.match(readFileSync(join(root, 'README.md'), 'utf8'), '](docs/demo.svg)');
  },
);

t.test('a picture', async (t) => {
  const svg = terminalPicture(
    'cat <file> & "more"',
    `A title\n   1.50 s  ok    it is there\n   2.00 s  WRONG it is not\n${'x'.repeat(200)}\n`,
  );
  t.match(svg, '&lt;file&gt; &amp; &quot;more&quot;');
  t.match(svg, '<tspan class="title">A title</tspan>');
  t.match(svg, '<tspan class="ok">ok    </tspan>it is there');
  t.match(svg, '<tspan class="wrong">WRONG </tspan>it is not');
  t.match(svg, `>${'x'.repeat(columns - 1)}…<`);
});
