import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { extract, type Header } from 'tar-stream';

interface BlobDescriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export interface ReadEntry {
  readonly header: Header;
  readonly content: Buffer;
}

/** An OCI image layout as a runtime reads it; throws where a digest or a size is not that of its blob. */
export class ReadImage {
  readonly index: { manifests: (BlobDescriptor & { annotations: Record<string, string> })[] };
  readonly manifest: { config: BlobDescriptor; layers: BlobDescriptor[]; annotations: object };
  readonly config: { config: object; rootfs: { diff_ids: string[] } };
  readonly #layout: string;

  constructor(layout: string) {
    this.#layout = layout;
    this.index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
    const [manifest] = this.index.manifests;
    if (manifest === undefined) throw new Error('the index has no manifest');
    this.manifest = JSON.parse(this.#blob(manifest).toString());
    this.config = JSON.parse(this.#blob(this.manifest.config).toString());
    const blobs = readdirSync(join(layout, 'blobs/sha256'));
    if (blobs.length !== 3) throw new Error(`there are other blobs, too: ${blobs.join(' ')}`);
  }

  /** The entries of the one layer, by their path. */
  async entries(): Promise<Map<string, ReadEntry>> {
    const [layer, more] = this.manifest.layers;
    if (layer === undefined || more !== undefined) throw new Error('there is not one layer');
    return readTar(this.#blob(layer));
  }

  #blob({ digest, size }: BlobDescriptor): Buffer {
    const blob = readFileSync(join(this.#layout, 'blobs', digest.replace(':', '/')));
    if (blob.length !== size) throw new Error(`${digest} has ${blob.length} bytes, not ${size}`);
    const real = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
    if (real !== digest) throw new Error(`${digest} is ${real}`);
    return blob;
  }
}

export async function readTar(bytes: Buffer): Promise<Map<string, ReadEntry>> {
  const entries = new Map<string, ReadEntry>();
  const archive = extract();
  archive.end(bytes);
  for await (const entry of archive) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    entries.set(entry.header.name, { header: entry.header, content: Buffer.concat(chunks) });
  }
  return entries;
}
