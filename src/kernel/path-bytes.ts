import { isUtf8 } from 'node:buffer';

/**
 * Paths are bytes, which need not be UTF-8. A string stands for them without loss: where the bytes are not
 * UTF-8, each byte above 127 becomes a lone surrogate (U+DC80 to U+DCFF), which no decoded text can hold. Such
 * strings can be cut and joined at every slash.
 */
export function pathFromBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  return buffer
    .toString('latin1')
    .replace(/[\x80-\xff]/g, (byte) => String.fromCharCode(0xdc00 + byte.charCodeAt(0)));
}

/** Low surrogates without a high one before them. */
const loneSurrogates = /((?:(?<![\ud800-\udbff])[\udc80-\udcff])+)/;

/** Whether the bytes of such a string are its UTF-8. */
export function isTextPath(path: string): boolean {
  return !loneSurrogates.test(path);
}

/** The bytes of such a string, for the `fs` functions, which take a Buffer as a path. */
export function bytesFromPath(path: string): Buffer {
  if (isTextPath(path)) return Buffer.from(path, 'utf8');
  const pieces = path
    .split(loneSurrogates)
    .map((piece, index) => (index % 2 === 0 ? Buffer.from(piece, 'utf8') : lastBytes(piece)));
  return Buffer.concat(pieces);
}

function lastBytes(piece: string): Buffer {
  return Buffer.from(Array.from(piece, (character) => character.charCodeAt(0) & 0xff));
}
