/** Fields of a qcow2 header that a test sets to something else; the names and sizes are those of docs/interop/qcow2.txt. */
export interface Qcow2Fields {
  version?: number;
  backingFileOffset?: bigint;
  backingFileSize?: number;
  clusterBits?: number;
  size?: bigint;
  cryptMethod?: number;
  l1Size?: number;
  l1TableOffset?: bigint;
  refcountTableOffset?: bigint;
  refcountTableClusters?: number;
  nbSnapshots?: number;
  snapshotsOffset?: bigint;
  incompatibleFeatures?: bigint;
  compatibleFeatures?: bigint;
  autoclearFeatures?: bigint;
  refcountOrder?: number;
  headerLength?: number;
  compressionType?: number;
  extensions?: readonly (readonly [type: number, data: Buffer])[];
}

/** An image without data of 1 GiB, in the order that QEMU writes it: header, refcount table, refcount block, L1 table. */
export function qcow2Image(fields: Qcow2Fields = {}): Buffer {
  const { version = 3, clusterBits = 16, headerLength = 112, extensions = [] } = fields;
  // Tests of impossible cluster sizes get the image of a possible one.
  const clusterSize = 2 ** Math.min(Math.max(clusterBits, 9), 21);
  const image = Buffer.alloc(4 * clusterSize);
  image.write('QFI\xfb', 0, 'latin1');
  image.writeUInt32BE(version, 4);
  image.writeBigUInt64BE(fields.backingFileOffset ?? 0n, 8);
  image.writeUInt32BE(fields.backingFileSize ?? 0, 16);
  image.writeUInt32BE(clusterBits, 20);
  image.writeBigUInt64BE(fields.size ?? 2n ** 30n, 24);
  image.writeUInt32BE(fields.cryptMethod ?? 0, 32);
  image.writeUInt32BE(fields.l1Size ?? Math.ceil(2 ** 30 / (clusterSize * (clusterSize / 8))), 36);
  image.writeBigUInt64BE(fields.l1TableOffset ?? BigInt(3 * clusterSize), 40);
  image.writeBigUInt64BE(fields.refcountTableOffset ?? BigInt(clusterSize), 48);
  image.writeUInt32BE(fields.refcountTableClusters ?? 1, 56);
  image.writeUInt32BE(fields.nbSnapshots ?? 0, 60);
  image.writeBigUInt64BE(fields.snapshotsOffset ?? 0n, 64);
  let position = 72;
  if (version !== 2) {
    image.writeBigUInt64BE(fields.incompatibleFeatures ?? 0n, 72);
    image.writeBigUInt64BE(fields.compatibleFeatures ?? 0n, 80);
    image.writeBigUInt64BE(fields.autoclearFeatures ?? 0n, 88);
    image.writeUInt32BE(fields.refcountOrder ?? 4, 96);
    image.writeUInt32BE(headerLength, 100);
    image.writeUInt8(fields.compressionType ?? 0, 104);
    position = headerLength;
  }
  for (const [type, data] of extensions) {
    image.writeUInt32BE(type, position);
    image.writeUInt32BE(data.length, position + 4);
    data.copy(image, position + 8);
    position += 8 + Math.ceil(data.length / 8) * 8;
  }
  image.writeBigUInt64BE(BigInt(2 * clusterSize), clusterSize);
  for (let cluster = 0; cluster < 4; cluster += 1) {
    image.writeUInt16BE(1, 2 * clusterSize + 2 * cluster);
  }
  return image;
}

/** Types of header extensions. */
export const extension = {
  featureNames: 0x6803f857,
  bitmaps: 0x23852875,
  encryptionHeader: 0x0537be77,
  dataFile: 0x44415441,
  backingFormat: 0xe2792aca,
  unknown: 0x12345678,
} as const;

/** An entry of the feature name table. */
export function feature(kind: number, bit: number, name: string): Buffer {
  const entry = Buffer.alloc(48);
  entry.set([kind, bit]);
  entry.write(name, 2);
  return entry;
}

export function bitmapsExtension(
  count: number,
  reserved: number,
  size: bigint,
  offset: bigint,
): Buffer {
  const data = Buffer.alloc(24);
  data.writeUInt32BE(count, 0);
  data.writeUInt32BE(reserved, 4);
  data.writeBigUInt64BE(size, 8);
  data.writeBigUInt64BE(offset, 16);
  return data;
}
