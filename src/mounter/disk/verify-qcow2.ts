import { printable } from '../../kubevirt/printable.ts';
import type { Qcow2Disk } from './disk.ts';
import type { DiskFile } from './disk-file.ts';
import { readQcow2Extensions } from './qcow2-extensions.ts';
import { compatible, compressionOf, incompatible, verifyFeatures } from './qcow2-features.ts';
import { type Qcow2Header, readQcow2Header } from './qcow2-header.ts';
import { verifyTables } from './qcow2-tables.ts';

const sectorSize = 512n;
const maxBackingFileName = 1023;
const standAlone = 'Make it stand alone: qemu-img convert -O qcow2 OLD NEW';
const decrypted = 'Store it decrypted, as qcow2 or raw: qemu-img convert';

/**
 * Verifies a qcow2 file by its header: that it is one that QEMU can open, and that it stands alone. The
 * tables behind the header are not read.
 */
export function verifyQcow2(disk: DiskFile): Qcow2Disk {
  const header = readQcow2Header(disk);
  refuseBackingFile(disk, header);
  if (header.cryptMethod !== 0) throw encrypted(disk);
  const extensions = readQcow2Extensions(disk, header);
  const external = (header.incompatibleFeatures & incompatible.externalDataFile) !== 0n;
  if (external || extensions.dataFile !== undefined) {
    throw disk.refused(
      'EDATAFILE',
      `its data are in another file${named(extensions.dataFile)}, which could be any file of the node`,
      standAlone,
    );
  }
  if (extensions.encrypted) throw encrypted(disk);
  verifyFeatures(disk, header, extensions.featureNames);
  const compression = compressionOf(disk, header);
  const virtualSize = virtualSizeOf(disk, header);
  verifyTables(disk, header, extensions.bitmaps);
  const has = (bits: bigint, bit: bigint) => (bits & bit) !== 0n;
  return {
    format: 'qcow2',
    virtualSize,
    fileSize: disk.size,
    allocatedSize: disk.allocatedSize,
    version: header.version,
    clusterSize: 2 ** header.clusterBits,
    refcountBits: 2 ** header.refcountOrder,
    compression,
    extendedL2: has(header.incompatibleFeatures, incompatible.extendedL2),
    lazyRefcounts: has(header.compatibleFeatures, compatible.lazyRefcounts),
    dirty: has(header.incompatibleFeatures, incompatible.dirty),
    snapshots: header.nbSnapshots,
    bitmaps: extensions.bitmaps?.count ?? 0,
  };
}

function refuseBackingFile(disk: DiskFile, header: Qcow2Header): void {
  if (header.backingFileOffset === 0n) return;
  const isInFile = header.backingFileOffset < BigInt(disk.size);
  const name = isInFile
    ? disk.read(
        Number(header.backingFileOffset),
        Math.min(header.backingFileSize, maxBackingFileName),
      )
    : Buffer.alloc(0);
  throw disk.refused(
    'EBACKINGFILE',
    `it has a backing file${named(name.toString())}, which could be any file of the node`,
    standAlone,
  );
}

function encrypted(disk: DiskFile) {
  return disk.refused('EENCRYPTED', 'it is encrypted', decrypted);
}

function named(name: string | undefined): string {
  return name ? `, "${printable(name)}"` : '';
}

/** Whole sectors: QEMU leaves out what is behind the last one. */
function virtualSizeOf(disk: DiskFile, header: Qcow2Header): number {
  const size = header.size - (header.size % sectorSize);
  if (size === 0n) throw disk.refused('EEMPTY', `its virtual size is ${header.size} bytes`);
  if (size > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw disk.refused(
      'ETOOLARGE',
      `its virtual size is ${header.size} bytes, where less than 8 PiB can be served`,
    );
  }
  return Number(size);
}
