import type { DiskFile } from './disk-file.ts';
import type { Qcow2Header } from './qcow2-header.ts';

/** QEMU writes half a dozen; more than this is meant to cost time. */
const maxExtensions = 64;
const headerLength = 8;
const maxNameLength = 1023;
const featureLength = 48;
const maxFeatures = 3 * 64;
const bitmapsLength = 24;

const type = {
  end: 0x00000000,
  featureNames: 0x6803f857,
  bitmaps: 0x23852875,
  encryptionHeader: 0x0537be77,
  dataFile: 0x44415441,
} as const;

/** What the header extensions of a qcow2 file say, as far as it matters. */
export interface Qcow2Extensions {
  /** Names of incompatible features by their bit, for messages. */
  readonly featureNames: ReadonlyMap<number, string>;
  /** Name of the external data file. */
  readonly dataFile: string | undefined;
  /** There is a header of full disk encryption. */
  readonly encrypted: boolean;
  readonly bitmaps: Qcow2Bitmaps | undefined;
}

/** The bitmaps extension. */
export interface Qcow2Bitmaps {
  readonly count: number;
  readonly reserved: number;
  readonly directorySize: bigint;
  readonly directoryOffset: bigint;
}

/** Walks the extensions, which lie between the header and the end of the first cluster. */
export function readQcow2Extensions(disk: DiskFile, header: Qcow2Header): Qcow2Extensions {
  let featureNames: ReadonlyMap<number, string> = new Map();
  let dataFile: string | undefined;
  let encrypted = false;
  let bitmaps: Qcow2Bitmaps | undefined;
  for (const extension of extensions(disk, header)) {
    if (extension.type === type.dataFile) dataFile = extension.data(maxNameLength).toString();
    else if (extension.type === type.encryptionHeader) encrypted = true;
    else if (extension.type === type.featureNames) featureNames = readFeatureNames(extension);
    else if (extension.type === type.bitmaps) bitmaps = readBitmaps(disk, extension);
  }
  return { featureNames, dataFile, encrypted, bitmaps };
}

interface Extension {
  readonly type: number;
  readonly length: number;
  /** Its first bytes, at most as many. */
  data(most: number): Buffer;
}

function* extensions(disk: DiskFile, header: Qcow2Header): Generator<Extension> {
  const end = 2 ** header.clusterBits;
  let position = header.headerLength;
  for (let count = 0; position < end; count += 1) {
    if (count === maxExtensions) {
      throw disk.refused('EMALFORMED', `it has more than ${maxExtensions} header extensions`);
    }
    const head = disk.readAll(position, headerLength, 'its header extensions');
    const type_ = head.readUInt32BE(0);
    const length = head.readUInt32BE(4);
    const start = position + headerLength;
    if (length > end - start) {
      throw disk.refused(
        'EMALFORMED',
        `a header extension of ${length} bytes does not fit into the first cluster`,
      );
    }
    if (type_ === type.end) return;
    yield {
      type: type_,
      length,
      data: (most) => disk.readAll(start, Math.min(length, most), 'its header extensions'),
    };
    position = start + Math.ceil(length / 8) * 8;
  }
}

/** Entries of 48 bytes: kind of the feature (0: incompatible), bit, name padded with NUL. */
function readFeatureNames(extension: Extension): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  const data = extension.data(maxFeatures * featureLength);
  for (let start = 0; start + featureLength <= data.length; start += featureLength) {
    const entry = data.subarray(start, start + featureLength);
    const [name = ''] = entry.toString('utf8', 2).split('\0');
    if (entry.readUInt8(0) === 0 && name !== '') names.set(entry.readUInt8(1), name);
  }
  return names;
}

function readBitmaps(disk: DiskFile, extension: Extension): Qcow2Bitmaps {
  if (extension.length !== bitmapsLength) {
    throw disk.refused(
      'EMALFORMED',
      `its bitmaps extension has ${extension.length} bytes, where it has to have ${bitmapsLength}`,
    );
  }
  const data = extension.data(bitmapsLength);
  return {
    count: data.readUInt32BE(0),
    reserved: data.readUInt32BE(4),
    directorySize: data.readBigUInt64BE(8),
    directoryOffset: data.readBigUInt64BE(16),
  };
}
