import {
  closeSync,
  createWriteStream,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
} from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Entry } from './entry.ts';
import { ImageError } from './image-error.ts';
import { type Image, writeLayout } from './layout.ts';
import { tar } from './tar.ts';

/** What was written. */
export interface WrittenImage {
  /** The OCI image layout. */
  readonly layout: string;
  /** The same as one tar archive. */
  readonly archive: string;
  /** Of the manifest: the image's digest in a registry. */
  readonly digest: string;
}

/**
 * Writes an image as a directory and as an archive beside it (`<directory>.tar`). Both appear when they are complete,
 * in the place of an image that was there before; when it fails nothing is left of it.
 *
 * @param check is called when all was read, or could not be; what it throws is the reason then
 * @throws {ImageError} EOUTPUT where something else is in the way
 */
export async function writeImage(
  directory: string,
  image: Image,
  check: () => void = () => {},
): Promise<WrittenImage> {
  if (existsSync(directory) && !isReplaceable(directory)) {
    throw new ImageError(
      'EOUTPUT',
      `${directory} is there and is no OCI image layout: it is left as it is. Give another --output, or remove it`,
    );
  }
  const parent = dirname(directory);
  await mkdir(parent, { recursive: true });
  const scratch = await mkdtemp(join(parent, `.${basename(directory)}-`));
  try {
    const layout = join(scratch, 'layout');
    await mkdir(layout);
    // A file that has become shorter fails the archive, and why is what matters.
    const { digest } = await writeLayout(layout, image).finally(check);
    const partial = join(scratch, 'archive');
    await archiveLayout(layout, partial, image.created);
    const archive = `${directory}.tar`;
    await rename(partial, archive);
    await rm(directory, { recursive: true, force: true });
    await rename(layout, directory);
    return { layout: directory, archive, digest };
  } catch (error) {
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
    if (!isFull) throw error;
    throw new ImageError('EOUTPUT', `cannot write ${directory}: no space left on device`, {
      cause: error,
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function isReplaceable(directory: string): boolean {
  const names = readdirSync(directory);
  return names.length === 0 || names.includes('oci-layout');
}

async function archiveLayout(layout: string, archive: string, created: Date): Promise<void> {
  const owner = { uid: 0, gid: 0 };
  const opened: number[] = [];
  try {
    const entries = readdirSync(layout, { recursive: true, encoding: 'utf8', withFileTypes: true })
      .map((entry) => ({
        entry,
        path: join(entry.parentPath, entry.name).slice(layout.length + 1),
      }))
      .sort((one, other) => (one.path < other.path ? -1 : 1))
      .map(({ entry, path }): Entry => {
        if (entry.isDirectory()) return { type: 'directory', path, owner, mode: 0o755 };
        const fd = openSync(join(layout, path), 'r');
        opened.push(fd);
        return { type: 'file', path, owner, mode: 0o644, fd, size: fstatSync(fd).size };
      });
    await pipeline(tar(entries, created), createWriteStream(archive, { flush: true }));
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}
