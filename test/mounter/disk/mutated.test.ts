import {
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Disk } from '../../../src/mounter/disk/disk.ts';
import { DiskRefusedError } from '../../../src/mounter/disk/disk-refused-error.ts';
import { verifyDisk } from '../../../src/mounter/disk/verify-disk.ts';
import { skipUnless } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { qcow2Image } from './qcow2-image.ts';
import { imageInfo } from './qemu-img.ts';

const headLength = 512;

/** Images as QEMU writes them, and every field of the header that it writes. */
const featureTable = Buffer.alloc(48 * 3);
featureTable.set([0, 5]);
featureTable.write('fifth', 2);
const images = [
  qcow2Image(),
  qcow2Image({ version: 2 }),
  qcow2Image({ extensions: [[0x6803f857, featureTable]], headerLength: 104 }),
  qcow2Image({ clusterBits: 9, size: 2n ** 20n, l1Size: 32, incompatibleFeatures: 1n }),
  qcow2Image({ incompatibleFeatures: 8n, compressionType: 1 }),
  qcow2Image({ incompatibleFeatures: 16n, l1Size: 4, extensions: [[7, Buffer.alloc(3)]] }),
];

const fields32 = [0, 4, 16, 20, 32, 36, 56, 60, 96, 100, 104, 108, 112, 116, 120];
const fields64 = [8, 24, 40, 48, 64, 72, 80, 88];
const values = [0n, 1n, 2n, 3n, 4n, 7n, 8n, 9n, 16n, 21n, 22n, 64n, 72n, 104n, 112n, 512n, 65536n];
const edges = [31n, 32n, 53n, 56n, 62n, 63n, 64n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits]);

/** The same numbers in every run: mulberry32. */
function* randomNumbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    yield ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** An image, some of its fields or bytes changed, perhaps cut short. */
class Mutator {
  readonly #random: Generator<number, never>;

  constructor(seed: number) {
    this.#random = randomNumbers(seed);
  }

  next(): Buffer {
    const image = Buffer.from(this.#oneOf(images));
    for (let change = this.#below(4); change >= 0; change -= 1) {
      const kind = this.#below(8);
      const value = this.#oneOf([...values, ...edges]);
      if (kind < 3) {
        image.writeUInt32BE(Number(value & 0xffffffffn), this.#oneOf(fields32));
      } else if (kind < 6) {
        image.writeBigUInt64BE(value & (2n ** 64n - 1n), this.#oneOf(fields64));
      } else if (kind === 6) {
        image.writeUInt8(this.#below(256), this.#below(headLength));
      } else {
        image.writeUInt32BE(this.#below(2 ** 32), this.#oneOf(fields32));
      }
    }
    return this.#below(10) === 0 ? image.subarray(0, this.#below(image.length)) : image;
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next().value * limit);
  }

  #oneOf<Value>(list: readonly Value[]): Value {
    const value = list[this.#below(list.length)];
    if (value === undefined) throw new Error('the list is empty');
    return value;
  }
}

/** Bytes that this process has read so far, by any call: proc_pid_io(5). */
function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1]);
}

/** The disk, or why it is refused; any other error is a bug. */
function verdict(fd: number): Disk | DiskRefusedError {
  try {
    return verifyDisk(fd, 'disk');
  } catch (error) {
    if (error instanceof DiskRefusedError) return error;
    throw error;
  }
}

t.test('an end, few bytes read, and a verdict, whatever the header says', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  const fd = openSync(path, 'w+');
  t.teardown(() => closeSync(fd));
  const mutator = new Mutator(1);
  const own = bytesRead();
  const cost = bytesRead() - own;
  const verdicts = new Map<string, number>();
  let most = 0;
  let longest = 0;
  for (let count = 0; count < 5000; count += 1) {
    const image = mutator.next();
    writeSync(fd, image, 0, Math.min(image.length, headLength), 0);
    ftruncateSync(fd, image.length);
    const before = bytesRead();
    const start = performance.now();
    const result = verdict(fd);
    longest = Math.max(longest, performance.now() - start);
    most = Math.max(most, bytesRead() - before - cost);
    const key = result instanceof DiskRefusedError ? result.code : result.format;
    verdicts.set(key, (verdicts.get(key) ?? 0) + 1);
  }
  t.ok(most < 64 * 1024, `${most} bytes were read at most`);
  t.ok(longest < 1000, `${longest} ms was the longest`);
  for (const key of [
    'qcow2',
    'raw',
    'EBACKINGFILE',
    'EMALFORMED',
    'ETRUNCATED',
    'ETOOLARGE',
    'EFEATURE',
  ]) {
    t.ok((verdicts.get(key) ?? 0) > 10, `${key}: ${verdicts.get(key)}`);
  }
});

t.test(
  'QEMU opens what is accepted, and sees the same',
  { skip: skipUnless('qemu-img') },
  async (t) => {
    const path = join(temporaryDirectory(t), 'disk');
    const mutator = new Mutator(2);
    for (let accepted = 0; accepted < 100; ) {
      const image = mutator.next();
      writeFileSync(path, image);
      const fd = openSync(path, 'r');
      const result = verdict(fd);
      closeSync(fd);
      if (result instanceof DiskRefusedError) continue;
      accepted += 1;
      // The tables that these lead to are read by QEMU, and are not part of the header.
      if (result.format === 'qcow2' && (result.snapshots > 0 || result.bitmaps > 0)) continue;
      const info = imageInfo(path);
      const header = image.toString('hex', 0, 128);
      t.equal(info?.format, result.format, `format of ${header}`);
      t.equal(info?.['virtual-size'], result.virtualSize, `virtual size of ${header}`);
      t.equal(info?.['backing-filename'], undefined, `no backing file in ${header}`);
    }
  },
);
