import { execFileSync } from 'node:child_process';
import { constants, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { DT_DIR, DT_REG, directoryEntries } from '../../src/kernel/directory-entries.ts';
import { bytesFromPath } from '../../src/kernel/path-bytes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const DT_FIFO = 1;
const DT_LNK = 10;

function entries(directory: string, most = 100_000) {
  using opened = Descriptor.open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  return directoryEntries(opened.number, most);
}

t.test('names and types', async (t) => {
  const directory = temporaryDirectory(t);
  t.strictSame(entries(directory), []);
  mkdirSync(join(directory, 'directory'));
  writeFileSync(join(directory, 'file'), '');
  symlinkSync('file', join(directory, 'link'));
  execFileSync('mkfifo', [join(directory, 'fifo')]);
  const long = 'x'.repeat(255);
  writeFileSync(join(directory, long), '');
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0x41])]), '');
  const found = new Map(entries(directory).map(({ name, type }) => [name, type]));
  const other = [...found.keys()].find((name) => bytesFromPath(name)[0] === 0xff) ?? '';
  t.strictSame([...bytesFromPath(other)], [0xff, 0x41], 'bytes that are no UTF-8 are kept');
  found.delete(other);
  t.strictSame(
    [...found].sort(),
    [
      ['directory', DT_DIR],
      ['fifo', DT_FIFO],
      ['file', DT_REG],
      ['link', DT_LNK],
      [long, DT_REG],
    ].sort(),
  );
});

t.test('more than a buffer holds, and no more than are wanted', async (t) => {
  const directory = temporaryDirectory(t);
  const names = Array.from({ length: 3000 }, (_, index) => `name-${index}`);
  for (const name of names) writeFileSync(join(directory, name), '');
  t.strictSame(
    entries(directory)
      .map(({ name }) => name)
      .sort(),
    names.sort(),
  );
  for (const most of [0, 1, 1500]) t.equal(entries(directory, most).length, most);
});

t.test('what is no directory', async (t) => {
  using file = Descriptor.open('/proc/self/stat', constants.O_RDONLY);
  t.throws(() => directoryEntries(file.number, 1), { code: 'ENOTDIR', syscall: 'getdents64' });
});
