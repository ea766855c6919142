import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import type { Disk } from '../../src/mounter/disk/disk.ts';
import { DiskRefusedError } from '../../src/mounter/disk/disk-refused-error.ts';
import { verifyDisk } from '../../src/mounter/disk/verify-disk.ts';
import { qcow2Image } from '../mounter/disk/qcow2-image.ts';
import { answer, fuzz, plain } from '../support/fuzz.ts';
import { mutated } from '../support/mutations.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const fd = openSync(join(temporaryDirectory(t), 'disk'), 'w+');
t.teardown(() => closeSync(fd));

function verdict(bytes: Buffer): Disk | undefined {
  ftruncateSync(fd, 0);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at);
  return answer(() => verifyDisk(fd, 'disk'), DiskRefusedError);
}

/** Of 1 MiB at most, which one table of any of these cluster sizes can describe. */
const fields = fc.record(
  {
    version: fc.constantFrom(2, 3),
    clusterBits: fc.integer({ min: 9, max: 12 }),
    size: fc.integer({ min: 1, max: 2048 }).map((sectors) => BigInt(sectors) * 512n),
    incompatibleFeatures: fc.constantFrom(0n, 1n),
    extensions: fc.array(
      fc.uint8Array({ maxLength: 40 }).map((data) => [0x12345678, Buffer.from(data)] as const),
      { maxLength: 1 },
    ),
  },
  plain,
);
type Fields = typeof fields extends fc.Arbitrary<infer Value> ? Value : never;

function image({ extensions, ...each }: Fields): Buffer {
  const entries = 2 ** 20 / (2 ** each.clusterBits * (2 ** each.clusterBits / 8));
  return qcow2Image({ ...each, l1Size: Math.max(1, Math.ceil(entries)), extensions });
}

fuzz(t, 'disks: qcow2 that QEMU could have written is read', fields, (each) => {
  const disk = verdict(image(each));
  assert.ok(disk?.format === 'qcow2');
  assert.equal(disk.virtualSize, Number(each.size));
  assert.equal(disk.version, each.version);
  assert.equal(disk.clusterSize, 2 ** each.clusterBits);
  assert.equal(disk.dirty, each.version === 3 && each.incompatibleFeatures === 1n);
});

fuzz(t, 'disks: qcow2, mutated', mutated(fields.map(image)), (bytes) => {
  const disk = verdict(bytes);
  if (disk === undefined) return;
  assert.equal(disk.fileSize, bytes.length);
  if (disk.format === 'raw') assert.notEqual(bytes.toString('latin1', 0, 4), 'QFI\xfb');
  if (disk.format !== 'qcow2') return;
  assert.equal(bytes.readBigUInt64BE(8), 0n, 'no backing file');
  assert.equal(bytes.readUInt32BE(32), 0, 'not encrypted');
  assert.ok(Number.isSafeInteger(disk.virtualSize) && disk.virtualSize % 512 === 0);
});

/** What other formats begin or end with. */
const magics = ['KDMV', 'COWD', 'vhdxfile', 'conectix', 'QED\0', 'LUKS\xba\xbe', '<<< ', '# Disk'];
const other = fc
  .tuple(fc.constantFrom(...magics), fc.uint8Array({ maxLength: 2048 }), fc.boolean())
  .map(([magic, body, isFirst]) => {
    const parts = [Buffer.from(magic, 'latin1'), body];
    return Buffer.concat(isFirst ? parts : parts.reverse());
  });

fuzz(t, 'disks: raw and other formats', fc.oneof(other, mutated(other)), (bytes) => {
  const disk = verdict(bytes);
  if (disk === undefined) return;
  assert.equal(disk.format, 'raw');
  assert.equal(disk.virtualSize, Math.ceil(bytes.length / 512) * 512);
  assert.doesNotMatch(bytes.toString('latin1', 0, 8), /^(KDMV|vhdxfile|conectix|QED\0|QFI\xfb)/);
});
