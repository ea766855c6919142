import type { DiskFile } from './disk-file.ts';
import type { Qcow2Bitmaps } from './qcow2-extensions.ts';
import { autoclear, incompatible } from './qcow2-features.ts';
import type { Qcow2Header } from './qcow2-header.ts';

const mebibyte = 1024n * 1024n;
/** The limits of QEMU (block/qcow2.h): it opens no file that goes beyond one of them. */
const maxOffset = 2n ** 63n - 1n;
const maxL1Bytes = 32n * mebibyte;
const maxRefcountTableBytes = 8n * mebibyte;
const maxSnapshots = 65_536;
const snapshotHeaderBytes = 40n;
const maxBitmaps = 65_535;
const maxBitmapDirectoryBytes = 1024n * BigInt(maxBitmaps);

/** Refuses a table that is too large, that is not where a table can be, or that the file has no room for. */
export function verifyTables(
  disk: DiskFile,
  header: Qcow2Header,
  bitmaps: Qcow2Bitmaps | undefined,
): void {
  const tables = new TableBounds(disk, header);
  tables.verify('L1 table', header.l1TableOffset, BigInt(header.l1Size) * 8n, maxL1Bytes);
  const needed = l1EntriesFor(header);
  if (BigInt(header.l1Size) < needed) {
    throw disk.refused(
      'EMALFORMED',
      `its L1 table has ${header.l1Size} entries, where its size of ${header.size} bytes needs ${needed}`,
    );
  }
  if (header.refcountTableClusters === 0) {
    throw disk.refused('EMALFORMED', 'it has no reference count table');
  }
  tables.verify(
    'reference count table',
    header.refcountTableOffset,
    BigInt(header.refcountTableClusters) << BigInt(header.clusterBits),
    maxRefcountTableBytes,
  );
  tables.verify(
    'snapshot table',
    header.snapshotsOffset,
    BigInt(header.nbSnapshots) * snapshotHeaderBytes,
    BigInt(maxSnapshots) * snapshotHeaderBytes,
  );
  if (bitmaps !== undefined && header.autoclearFeatures & autoclear.bitmaps) {
    if (bitmaps.count === 0 || bitmaps.count > maxBitmaps || bitmaps.reserved !== 0) {
      throw disk.refused('EMALFORMED', `its bitmaps extension tells of ${bitmaps.count} bitmaps`);
    }
    tables.verify(
      'bitmap directory',
      bitmaps.directoryOffset,
      bitmaps.directorySize,
      maxBitmapDirectoryBytes,
    );
  }
}

/** Each L1 entry is for one L2 table, each entry of that for one cluster. */
function l1EntriesFor(header: Qcow2Header): bigint {
  const extended = (header.incompatibleFeatures & incompatible.extendedL2) !== 0n;
  const l2Bits = BigInt(header.clusterBits - (extended ? 4 : 3));
  const bits = BigInt(header.clusterBits) + l2Bits;
  return (header.size + (1n << bits) - 1n) >> bits;
}

class TableBounds {
  readonly #disk: DiskFile;
  readonly #clusterSize: bigint;

  constructor(disk: DiskFile, header: Qcow2Header) {
    this.#disk = disk;
    this.#clusterSize = 1n << BigInt(header.clusterBits);
  }

  verify(name: string, offset: bigint, bytes: bigint, most: bigint): void {
    if (bytes > most) {
      const why = `its ${name} has ${bytes} bytes, where ${most} are the most`;
      throw this.#disk.refused('ETOOLARGE', why);
    }
    const isEmpty = bytes === 0n;
    if (offset % this.#clusterSize !== 0n || offset > maxOffset || (offset === 0n && !isEmpty)) {
      throw this.#disk.refused(
        'EMALFORMED',
        `its ${name} is at byte ${offset}, where no cluster begins that can have it`,
      );
    }
    if (!isEmpty && offset + bytes > BigInt(this.#disk.size)) {
      throw this.#disk.refused(
        'ETRUNCATED',
        `its ${name} ends at byte ${offset + bytes}, and the file after ${this.#disk.size}`,
        'Build the image again from a disk that "qemu-img check" finds no fault with',
      );
    }
  }
}
