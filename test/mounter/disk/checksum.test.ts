import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checksumOf } from '../../../src/mounter/disk/checksum.ts';
import { crc32, crc32InScript } from '../../../src/mounter/disk/crc32.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

function file(t: Test, bytes: Uint8Array | string): { path: string; fd: number } {
  const path = join(temporaryDirectory(t), 'disk');
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r');
  t.teardown(() => closeSync(fd));
  return { path, fd };
}

/** What gzip(1) writes at the end of its output: RFC 1952, 2.3.1. */
function checksumOfGzip(path: string): number {
  const output = execFileSync('gzip', ['-1', '-c', path], { maxBuffer: 2 ** 27 });
  return output.readUInt32LE(output.length - 8);
}

t.test('the check value of CRC-32', async (t) => {
  t.equal(await checksumOf(file(t, '123456789').fd), 0xcbf43926);
  t.equal(await checksumOf(file(t, '').fd), 0);
});

t.test('the same as gzip’s, over chunks and holes', async (t) => {
  for (const size of [1, 4096, 1024 * 1024, 3 * 1024 * 1024 + 17]) {
    const { path, fd } = file(t, Buffer.alloc(size, 'a disk of some size '));
    t.equal(await checksumOf(fd), checksumOfGzip(path), `${size} bytes`);
    truncateSync(path, size + 5 * 1024 * 1024);
    t.equal(await checksumOf(fd), checksumOfGzip(path), `${size} bytes and a hole`);
  }
});

t.test('without zlib.crc32', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) & 0xff));
  t.equal(crc32InScript(Buffer.from('123456789'), 0), 0xcbf43926);
  t.equal(crc32InScript(bytes, 0), crc32(bytes, 0));
  t.equal(crc32InScript(bytes, 0xdeadbeef), crc32(bytes, 0xdeadbeef), 'carried on');
  t.equal(crc32InScript(Buffer.alloc(0), 7), 7);
});

t.test('the offset of the descriptor stays where it is', async (t) => {
  const { fd } = file(t, '123456789');
  readSync(fd, Buffer.alloc(3));
  t.equal(await checksumOf(fd), 0xcbf43926);
  const next = Buffer.alloc(1);
  readSync(fd, next);
  t.equal(next.toString(), '4');
});

t.test('abort and progress', async (t) => {
  const { path, fd } = file(t, 'x');
  truncateSync(path, 2 ** 40);
  const controller = new AbortController();
  const progress: number[] = [];
  await t.rejects(
    checksumOf(fd, {
      signal: controller.signal,
      onProgress: (bytes) => {
        progress.push(bytes);
        if (progress.length === 3) controller.abort(new Error('enough'));
      },
    }),
    { message: 'enough' },
  );
  t.strictSame(
    progress,
    [1, 2, 3].map((chunk) => chunk * 1024 * 1024),
    'it ends after the chunk',
  );
  await t.rejects(checksumOf(fd, { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

t.test('memory stays within bounds', async (t) => {
  const { path, fd } = file(t, 'x');
  truncateSync(path, 512 * 1024 * 1024);
  const before = process.memoryUsage.rss();
  await checksumOf(fd);
  const grown = process.memoryUsage.rss() - before;
  t.ok(grown < 32 * 1024 * 1024, `${grown} bytes`);
});

t.test('an error of the system is passed on', async (t) => {
  const fd = openSync(temporaryDirectory(t), 'r');
  t.teardown(() => closeSync(fd));
  await t.rejects(checksumOf(fd), { code: 'EISDIR', syscall: 'read' });
});
