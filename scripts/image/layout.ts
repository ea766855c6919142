import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BlobDescriptor, Blobs } from './blobs.ts';
import type { Entry } from './entry.ts';
import { type Reference, referenceText } from './reference.ts';
import { tar } from './tar.ts';

/** An image of one layer. */
export interface Image {
  readonly reference: Reference;
  readonly entries: readonly Entry[];
  /** GOARCH, as container runtimes compare it with their own. */
  readonly architecture: string;
  /** What a container of it runs by default; none for an image that holds nothing but a disk. */
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Of the image and of every file in it. */
  readonly created: Date;
}

const oci = 'application/vnd.oci.image';

/** Writes an image as an OCI image layout (image-spec, image-layout.md) into a directory that is empty. */
export async function writeLayout(directory: string, image: Image): Promise<BlobDescriptor> {
  const blobs = new Blobs(directory);
  const layer = await blobs.add(`${oci}.layer.v1.tar`, tar(image.entries, image.created));
  const config = await blobs.addJson(`${oci}.config.v1+json`, configuration(image, layer));
  const manifest = await blobs.addJson(`${oci}.manifest.v1+json`, {
    schemaVersion: 2,
    mediaType: `${oci}.manifest.v1+json`,
    config,
    layers: [layer],
    annotations: image.labels,
  });
  write(directory, 'index.json', {
    schemaVersion: 2,
    mediaType: `${oci}.index.v1+json`,
    manifests: [
      {
        ...manifest,
        platform: { architecture: image.architecture, os: 'linux' },
        annotations: {
          'io.containerd.image.name': referenceText(image.reference),
          'org.opencontainers.image.ref.name': image.reference.tag,
        },
      },
    ],
  });
  write(directory, 'oci-layout', { imageLayoutVersion: '1.0.0' });
  return manifest;
}

/** config.md of the image specification. QEMU's user runs it, and an image without a user would be refused by `runAsNonRoot`. */
function configuration(image: Image, layer: BlobDescriptor): object {
  const { architecture, labels, entrypoint, command } = image;
  const created = image.created.toISOString();
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      User: '107:107',
      ...(entrypoint && { Entrypoint: entrypoint }),
      ...(command && { Cmd: command }),
      WorkingDir: '/',
      Labels: labels,
    },
    // A layer that is not compressed has its own digest as that of its contents.
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
    history: [{ created, created_by: 'npm run image' }],
  };
}

function write(directory: string, name: string, value: object): void {
  writeFileSync(join(directory, name), JSON.stringify(value));
}
