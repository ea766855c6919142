import { createReadStream } from 'node:fs';
import { manifestLimit, tooBig } from './manifest-documents.ts';
import { ManifestError } from './manifest-error.ts';

/**
 * The text of a file, or of standard input where the name is `-`. Stops reading once it is more than a
 * manifest may have, whatever the name leads to (a pipe, `/dev/zero`).
 *
 * @throws {ManifestError} EREAD, ETOOBIG
 */
export async function readManifestFile(name: string): Promise<string> {
  const [stream, source] =
    name === '-' ? [process.stdin, 'standard input'] : [createReadStream(name), name];
  const chunks: Buffer[] = [];
  let total = 0;
  // Leaving the loop, by an error too, closes the stream.
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      total += chunk.length;
      if (total > manifestLimit) throw tooBig(source);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof ManifestError || !(cause instanceof Error)) throw cause;
    throw new ManifestError('EREAD', source, `cannot be read: ${cause.message}`, { cause });
  }
  return Buffer.concat(chunks).toString('utf8');
}
