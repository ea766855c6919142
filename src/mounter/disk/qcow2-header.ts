import type { DiskFile } from './disk-file.ts';

/** `QFI\xfb`, which the older qcow shares. */
export const qcowMagic = 0x514649fb;

const v2Length = 72;
const v3Length = 104;
const compressionTypePosition = 104;
const minClusterBits = 9;
const maxClusterBits = 21;
const maxRefcountOrder = 6;

/** The header of a qcow2 file: docs/interop/qcow2.txt of QEMU, in its order and under its names. */
export interface Qcow2Header {
  readonly version: 2 | 3;
  /** Where the name of the backing file is; 0: there is none. */
  readonly backingFileOffset: bigint;
  /** Length of that name in bytes. */
  readonly backingFileSize: number;
  /** A cluster has 2 to this power bytes. */
  readonly clusterBits: number;
  /** Virtual size in bytes. */
  readonly size: bigint;
  /** 0 none, 1 AES, 2 LUKS. */
  readonly cryptMethod: number;
  /** Entries in the active L1 table. */
  readonly l1Size: number;
  readonly l1TableOffset: bigint;
  readonly refcountTableOffset: bigint;
  readonly refcountTableClusters: number;
  readonly nbSnapshots: number;
  readonly snapshotsOffset: bigint;
  /** Bits of features without which the disk must not be opened. Of version 2, as what follows: as if it were 0. */
  readonly incompatibleFeatures: bigint;
  /** Bits of features that can be ignored. */
  readonly compatibleFeatures: bigint;
  /** Bits of features that can be ignored by those who do not write. */
  readonly autoclearFeatures: bigint;
  /** A reference count has 2 to this power bits; 4 in version 2. */
  readonly refcountOrder: number;
  /** Bytes of the header; 72 in version 2. */
  readonly headerLength: number;
  /** 0 zlib, 1 zstd; 0 where the header ends before it. */
  readonly compressionType: number;
}

export function isQcow(disk: DiskFile): boolean {
  const head = disk.read(0, 4);
  return head.length === 4 && head.readUInt32BE(0) === qcowMagic;
}

/** Reads the header, and checks what the rest of the file cannot be read without. */
export function readQcow2Header(disk: DiskFile): Qcow2Header {
  const version = disk.readAll(0, 8, 'the header of qcow2').readUInt32BE(4);
  if (version !== 2 && version !== 3) {
    throw disk.refused(
      'EVERSION',
      `it is qcow2 of version ${version}, where only 2 and 3 are known`,
      'Write it anew with: qemu-img convert -O qcow2 OLD NEW',
    );
  }
  const header = disk.readAll(0, version === 2 ? v2Length : v3Length, 'the header of qcow2');
  const clusterBits = header.readUInt32BE(20);
  if (clusterBits < minClusterBits || clusterBits > maxClusterBits) {
    throw disk.refused(
      'EMALFORMED',
      `its clusters have 2^${clusterBits} bytes, where ${minClusterBits} to ${maxClusterBits} bits are possible`,
    );
  }
  return {
    version,
    backingFileOffset: header.readBigUInt64BE(8),
    backingFileSize: header.readUInt32BE(16),
    clusterBits,
    size: header.readBigUInt64BE(24),
    cryptMethod: header.readUInt32BE(32),
    l1Size: header.readUInt32BE(36),
    l1TableOffset: header.readBigUInt64BE(40),
    refcountTableOffset: header.readBigUInt64BE(48),
    refcountTableClusters: header.readUInt32BE(56),
    nbSnapshots: header.readUInt32BE(60),
    snapshotsOffset: header.readBigUInt64BE(64),
    ...(version === 2 ? version2 : readVersion3(disk, header, clusterBits)),
  };
}

const version2 = {
  incompatibleFeatures: 0n,
  compatibleFeatures: 0n,
  autoclearFeatures: 0n,
  refcountOrder: 4,
  headerLength: v2Length,
  compressionType: 0,
};

function readVersion3(disk: DiskFile, header: Buffer, clusterBits: number): typeof version2 {
  const refcountOrder = header.readUInt32BE(96);
  const headerLength = header.readUInt32BE(100);
  if (refcountOrder > maxRefcountOrder) {
    throw disk.refused(
      'EMALFORMED',
      `its reference counts have 2^${refcountOrder} bits, where 64 are the most`,
    );
  }
  if (headerLength < v3Length || headerLength > 2 ** clusterBits || headerLength % 8 !== 0) {
    throw disk.refused(
      'EMALFORMED',
      `its header has ${headerLength} bytes, where it has to be a multiple of 8 from ${v3Length} to a cluster`,
    );
  }
  return {
    incompatibleFeatures: header.readBigUInt64BE(72),
    compatibleFeatures: header.readBigUInt64BE(80),
    autoclearFeatures: header.readBigUInt64BE(88),
    refcountOrder,
    headerLength,
    compressionType:
      headerLength > compressionTypePosition
        ? disk.readAll(compressionTypePosition, 1, 'the header of qcow2').readUInt8(0)
        : 0,
  };
}
