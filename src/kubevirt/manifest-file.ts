import { closeSync, openSync, readSync } from 'node:fs';
import { manifestLimit, tooBig } from './manifest-documents.ts';

const chunkSize = 256 * 1024;

/**
 * The text of a file, or of standard input where the name is `-`. Reads one byte more than a manifest
 * may have at most, whatever it is that the name leads to (a pipe, `/dev/zero`).
 *
 * @throws {ManifestError} ETOOBIG
 */
export function readManifestFile(name: string): string {
  if (name === '-') return readBounded(0, 'standard input');
  const fd = openSync(name, 'r');
  try {
    return readBounded(fd, name);
  } finally {
    closeSync(fd);
  }
}

function readBounded(fd: number, source: string): string {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(chunkSize);
    const length = readSync(fd, chunk);
    if (length === 0) break;
    total += length;
    if (total > manifestLimit) throw tooBig(source);
    chunks.push(chunk.subarray(0, length));
  }
  return Buffer.concat(chunks).toString('utf8');
}
