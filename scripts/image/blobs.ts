import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Names a blob: the descriptor of the OCI image specification. */
export interface BlobDescriptor {
  readonly mediaType: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

/** The `blobs` of an OCI image layout. */
export class Blobs {
  readonly #directory: string;

  /** @param layout the directory of the layout */
  constructor(layout: string) {
    this.#directory = join(layout, 'blobs/sha256');
    mkdirSync(this.#directory, { recursive: true });
  }

  /** Writes a blob while it is made; it gets its name when its digest is known. */
  async add(mediaType: string, content: AsyncIterable<Uint8Array>): Promise<BlobDescriptor> {
    const hash = createHash('sha256');
    let size = 0;
    const partial = join(this.#directory, '.partial');
    await pipeline(
      content,
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          size += chunk.length;
          yield chunk;
        }
      },
      createWriteStream(partial, { flush: true }),
    );
    const hex = hash.digest('hex');
    renameSync(partial, join(this.#directory, hex));
    return { mediaType, digest: `sha256:${hex}`, size };
  }

  addJson(mediaType: string, value: object): Promise<BlobDescriptor> {
    return this.add(mediaType, Readable.from([Buffer.from(JSON.stringify(value))]));
  }
}
