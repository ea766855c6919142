import type { OtherFormat } from './other-format.ts';

/** What is known of a disk that was not refused. Sizes are in bytes. */
export type Disk = Qcow2Disk | RawDisk | OtherDisk;

interface DiskSizes {
  /** Of the file. */
  readonly fileSize: number;
  /** What the file takes on its file system: less where it has holes. */
  readonly allocatedSize: number;
}

/** Stands alone: no backing file, no external data file, not encrypted. */
export interface Qcow2Disk extends DiskSizes {
  readonly format: 'qcow2';
  /** What the guest sees, a multiple of 512. */
  readonly virtualSize: number;
  readonly version: 2 | 3;
  readonly clusterSize: number;
  /** Width of a reference count in bits. */
  readonly refcountBits: number;
  /** Of its compressed clusters, where it has any. */
  readonly compression: 'zlib' | 'zstd';
  /** Clusters are allocated in 32 parts. */
  readonly extendedL2: boolean;
  readonly lazyRefcounts: boolean;
  /** Reference counts may be out of date. They are not used as long as nobody writes. */
  readonly dirty: boolean;
  /** Internal snapshots. The guest sees the active state, nothing of them. */
  readonly snapshots: number;
  /** Persistent dirty bitmaps. */
  readonly bitmaps: number;
}

/** Everything that is no other format. */
export interface RawDisk extends DiskSizes {
  readonly format: 'raw';
  /** What the guest sees: the size of the file, up to the next multiple of 512, as QEMU does. */
  readonly virtualSize: number;
  /** What the disk begins with; undefined where it is not one of these. */
  readonly content: RawContent | undefined;
}

/** `iso9660` a file system of optical disks, `gpt` and `mbr` partition tables. */
export type RawContent = 'iso9660' | 'gpt' | 'mbr';

/** Of a format that was allowed by name. Its header is not read. */
export interface OtherDisk extends DiskSizes {
  readonly format: OtherFormat;
  readonly virtualSize: undefined;
}
