import { printable } from '../../kubevirt/printable.ts';
import type { DiskFile } from './disk-file.ts';
import type { Qcow2Header } from './qcow2-header.ts';

/** Bits of `incompatible_features`. */
export const incompatible = {
  dirty: 1n << 0n,
  corrupt: 1n << 1n,
  externalDataFile: 1n << 2n,
  compressionType: 1n << 3n,
  extendedL2: 1n << 4n,
} as const;

/** Bits of `compatible_features`. */
export const compatible = { lazyRefcounts: 1n << 0n } as const;

/** Bits of `autoclear_features`. */
export const autoclear = { bitmaps: 1n << 0n } as const;

const known = Object.values(incompatible).reduce((mask, bit) => mask | bit, 0n);
const extendedL2MinClusterBits = 14;

/** Refuses what cannot be ignored and is not known, by name where the file has one for it. */
export function verifyFeatures(
  disk: DiskFile,
  header: Qcow2Header,
  names: ReadonlyMap<number, string>,
): void {
  const unknown = header.incompatibleFeatures & ~known;
  if (unknown !== 0n) {
    throw disk.refused(
      'EFEATURE',
      `it uses features of qcow2 that are not known here: ${describe(unknown, names)}`,
      'Write it anew without them: qemu-img convert -O qcow2 OLD NEW',
    );
  }
  if (header.incompatibleFeatures & incompatible.corrupt) {
    throw disk.refused(
      'ECORRUPT',
      'it is marked as corrupt',
      'Repair it with "qemu-img check -r all", or build the image again from a good disk',
    );
  }
  const extended = (header.incompatibleFeatures & incompatible.extendedL2) !== 0n;
  if (extended && header.clusterBits < extendedL2MinClusterBits) {
    throw disk.refused(
      'EMALFORMED',
      `it has extended L2 entries with clusters of ${2 ** header.clusterBits} bytes, where 16384 are the least`,
    );
  }
}

/** The compression of compressed clusters; the bit is to be set for each but the first. */
export function compressionOf(disk: DiskFile, header: Qcow2Header): 'zlib' | 'zstd' {
  const compression = (['zlib', 'zstd'] as const)[header.compressionType];
  if (compression === undefined) {
    throw disk.refused(
      'EFEATURE',
      `it is compressed in a way that is not known here: type ${header.compressionType}`,
      'Write it anew with: qemu-img convert -O qcow2 OLD NEW',
    );
  }
  const marked = (header.incompatibleFeatures & incompatible.compressionType) !== 0n;
  if (marked !== (compression !== 'zlib')) {
    throw disk.refused(
      'EMALFORMED',
      `its compression is ${compression}, and the feature bit for it is ${marked ? 'set' : 'not set'}`,
    );
  }
  return compression;
}

function describe(bits: bigint, names: ReadonlyMap<number, string>): string {
  const found = [];
  for (let bit = 0; bit < 64; bit += 1) {
    if (!(bits & (1n << BigInt(bit)))) continue;
    const name = names.get(bit);
    found.push(name === undefined ? `bit ${bit}` : `bit ${bit} ("${printable(name)}")`);
  }
  return found.join(', ');
}
