import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { verifyDisk } from '../../../src/mounter/disk/verify-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { refusalOf, verifyFile } from './disk-image.ts';
import { qcow2Image } from './qcow2-image.ts';

t.test('files that are no disk', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'disk');
  t.match(refusalOf(path, Buffer.alloc(0)), { code: 'EEMPTY', message: /it is an empty file/ });
  t.match(refusalOf(directory), { code: 'ENOTFILE' }, 'a directory');
  t.match(refusalOf('/dev/null'), { code: 'ENOTFILE' }, 'a device');
  spawnSync('mkfifo', [`${path}.fifo`]);
  const fd = openSync(`${path}.fifo`, 'r+');
  t.teardown(() => closeSync(fd));
  t.throws(
    () => verifyDisk(fd, 'the pipe'),
    { code: 'ENOTFILE', path: 'the pipe' },
    'a pipe, without waiting',
  );
});

t.test('the path of the caller is in the message, and is one line of text', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'disk');
  writeFileSync(path, '');
  const fd = openSync(path, 'r');
  t.teardown(() => closeSync(fd));
  t.throws(() => verifyDisk(fd, 'a\nb\u001b[2J'), {
    message: 'the disk a\\u{a}b\\u{1b}[2J is refused: it is an empty file',
    path: 'a\nb\u001b[2J',
  });
  symlinkSync(path, join(directory, 'link'));
  t.match(refusalOf(join(directory, 'link')), { path: join(directory, 'link') });
});

t.test('the descriptor stays open and its offset where it is', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  writeFileSync(path, qcow2Image());
  const fd = openSync(path, 'r');
  t.teardown(() => closeSync(fd));
  readSync(fd, Buffer.alloc(4));
  verifyDisk(fd, path);
  const next = Buffer.alloc(4);
  readSync(fd, next);
  t.equal(next.readUInt32BE(0), 3, 'the version is what follows the magic');
});

t.test('a disk larger than the file system could fill', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  writeFileSync(path, 'x');
  truncateSync(path, 2 ** 42 + 1);
  const disk = verifyFile(path);
  t.match(disk, { format: 'raw', virtualSize: 2 ** 42 + 512, fileSize: 2 ** 42 + 1 });
  t.ok(disk.allocatedSize < 2 ** 20, 'holes take nothing');
});
