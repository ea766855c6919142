import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeStaticNode, type Step } from '../../scripts/static-node/index.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { tmpfs } from '../support/tmpfs.ts';

const command = join(import.meta.dirname, '../../scripts/static-node/main.ts');

/** A small program in place of Node.js: the cache knows no difference. */
function compile(t: Test): string {
  const program = join(temporaryDirectory(t), 'program');
  writeFileSync(`${program}.cpp`, '#include <iostream>\nint main() { std::cout << "hello\\n"; }\n');
  execFileSync('g++', ['-no-pie', '-o', program, `${program}.cpp`]);
  return program;
}

t.test('the cache', { skip: skipUnless('g++') }, async (t) => {
  const node = compile(t);

  t.test('gives what was made before from the same', async (t) => {
    const cacheDirectory = join(temporaryDirectory(t), 'a/b');
    const steps: Step[] = [];
    const log = (step: Step) => steps.push(step);
    const first = await makeStaticNode({ node, cacheDirectory, log });
    t.equal(first.cached, false);
    t.equal(execFileSync(first.path, { encoding: 'utf8' }), 'hello\n');
    t.equal(statSync(first.path).mode & 0o777, 0o755);
    t.match(
      steps.map(({ name }) => name),
      ['plan', 'assemble', 'link', 'finish', 'static Node.js'],
    );
    t.match(steps.at(-1), { cached: false, bytes: statSync(first.path).size });
    const second = await makeStaticNode({ node, cacheDirectory, log });
    t.strictSame(second, { path: first.path, cached: true });
    t.match(steps.at(-1), { cached: true });
    const copy = `${node}-copy`;
    writeFileSync(copy, readFileSync(node));
    t.strictSame(await makeStaticNode({ node: copy, cacheDirectory }), second, 'by its content');
  });

  t.test('does not take one for another', async (t) => {
    const cacheDirectory = temporaryDirectory(t);
    const { path } = await makeStaticNode({ node, cacheDirectory });
    const other = await makeStaticNode({ node, cacheDirectory, intl: true });
    t.not(other.path, path, 'another option');
    const changed = join(temporaryDirectory(t), 'program');
    writeFileSync(changed, readFileSync(node, 'latin1').replace('hello\n', 'HELLO\n'), 'latin1');
    const { atime, mtime } = statSync(node);
    utimesSync(changed, atime, mtime);
    t.equal(statSync(changed).size, statSync(node).size);
    const third = await makeStaticNode({ node: changed, cacheDirectory });
    t.not(third.path, path, 'another content of the same size and time');
    t.equal(execFileSync(third.path, { encoding: 'utf8' }), 'HELLO\n');
  });

  t.test('is safe for two builds at once', async (t) => {
    const cacheDirectory = temporaryDirectory(t);
    const both = await Promise.all([1, 2].map(() => makeStaticNode({ node, cacheDirectory })));
    t.equal(both[0]?.path, both[1]?.path);
    t.equal(execFileSync(both[0]?.path ?? '', { encoding: 'utf8' }), 'hello\n');
    t.strictSame(readdirSync(cacheDirectory).length, 1, 'nothing else is left');
  });

  t.test('is not fooled by a build that was killed, and clears up after it', async (t) => {
    const cacheDirectory = temporaryDirectory(t);
    const script = `import('${join(command, '../index.ts')}').then(({ makeStaticNode }) =>
      makeStaticNode({ ...${JSON.stringify({ node, cacheDirectory })}, log: ({ name }) => name === 'assemble' && process.kill(process.pid, 'SIGKILL') }))`;
    const [, signal] = await once(spawn(process.execPath, ['-e', script]), 'exit');
    t.equal(signal, 'SIGKILL');
    const [left = '', ...more] = readdirSync(cacheDirectory);
    t.match(left, /^\.relink-/);
    t.strictSame(more, []);
    t.equal((await makeStaticNode({ node, cacheDirectory })).cached, false);
    t.ok(existsSync(join(cacheDirectory, left)), 'it might still run');
    utimesSync(join(cacheDirectory, left), 0, 0);
    await makeStaticNode({ node, cacheDirectory, intl: true });
    t.notOk(existsSync(join(cacheDirectory, left)));
  });
});

t.test('the command', { skip: skipUnless('g++') }, async (t) => {
  const node = compile(t);
  const run = (...argv: string[]) =>
    spawnSync(process.execPath, [command, ...argv], { encoding: 'utf8' });
  const output = join(temporaryDirectory(t), 'static');
  t.match(run(node, output), { status: 0, stderr: '' });
  t.equal(execFileSync(output, { encoding: 'utf8' }), 'hello\n');
  t.match(run('/nothing', output), {
    status: 1,
    stdout: '',
    stderr: /^static-node: error: cannot read the binary: ENOENT[^\n]*\n$/,
  });
  t.match(run(node, '/nothing/static'), {
    status: 1,
    stderr: /^static-node: error: ENOENT[^\n]*\/nothing[^\n]*\n$/,
  });
  mkdirSync(`${output}.d`);
  t.match(run(node, `${output}.d`), { status: 1, stderr: /^static-node: error: E[^\n]*\n$/ });
});

t.test('a full disk', { skip: skipUnless('root', 'g++') }, async (t) => {
  const node = compile(t);
  for (const size of ['64k', '1m', '3m']) {
    const cacheDirectory = tmpfs(t, `size=${size}`);
    await t.rejects(
      makeStaticNode({ node, cacheDirectory }),
      /ENOSPC|No space left on device/,
      size,
    );
    t.strictSame(readdirSync(cacheDirectory), [], 'nothing is left behind');
  }
});
