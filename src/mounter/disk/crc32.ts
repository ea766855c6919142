import * as zlib from 'node:zlib';

/** CRC-32 of the bytes, carried on from a value: the one of IEEE 802.3, gzip and zlib. */
export type Crc32 = (bytes: Uint8Array, value: number) => number;

/** For Node.js before 20.15 and 22.2, which have no `zlib.crc32`. */
export const crc32InScript: Crc32 = (bytes, value) => {
  let crc = ~value;
  for (const byte of bytes) {
    crc = (table[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
};

const polynomial = 0xedb88320;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  }
  return crc;
});

export const crc32: Crc32 = zlib.crc32 ?? crc32InScript;
