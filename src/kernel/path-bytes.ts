import { isUtf8 } from 'node:buffer';

/**
 * Paths are bytes, which need not be UTF-8. A string stands for them without loss: where the bytes are not
 * UTF-8, each byte above 127 becomes a lone surrogate (U+DC80 to U+DCFF), which no decoded text can hold.
 */
export function pathFromBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  return String.fromCharCode(...Array.from(buffer, (byte) => (byte < 0x80 ? byte : 0xdc00 + byte)));
}

/** A low surrogate without a high one before it. */
const loneSurrogate = /(?<![\ud800-\udbff])[\udc80-\udcff]/;

/** The bytes of such a string, for the `fs` functions, which take a Buffer as a path. */
export function bytesFromPath(path: string): Buffer {
  if (!loneSurrogate.test(path)) return Buffer.from(path, 'utf8');
  return Buffer.from(Array.from(path, (character) => character.charCodeAt(0) & 0xff));
}
