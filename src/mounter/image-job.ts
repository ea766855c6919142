import type { Descriptor } from '../kernel/descriptor.ts';
import type { Disk } from './disk/disk.ts';
import type { OtherFormat } from './disk/other-format.ts';
import { verifyDisk } from './disk/verify-disk.ts';
import { openDisk, openImageFile, refuseUnreadable, reopenForReading } from './disk-in-image.ts';
import type { Owner } from './host-options.ts';
import { type MountedFile, mountedFile } from './mounted-file.ts';

/** A file of an image to open, and what is to be made sure of it. */
export interface ImageJob {
  /** Descriptor of the image's root. */
  readonly root: number;
  /** `one disk`: at `path`, or else the one file in `/disk`; its header is verified. `file`: any file. */
  readonly kind: 'disk' | 'file';
  readonly path: string | undefined;
  /** What the image is called in messages. */
  readonly image: string;
  /** Who has to be able to read it. */
  readonly owner: Owner;
  readonly allowFormats: readonly OtherFormat[];
}

/** The file that was opened. */
export interface OpenedImageFile {
  /** Open with O_PATH. */
  readonly file: Descriptor;
  /** The path in the image that it was found at. */
  readonly path: string;
  readonly disk: Disk | undefined;
  /** Which file it is. */
  readonly identity: MountedFile;
}

/** Opens the file; waits for the image's file system as long as that takes. */
export function openFromImage(job: ImageJob): OpenedImageFile {
  const { root, kind, path, image, owner, allowFormats } = job;
  const found =
    kind === 'disk' ? openDisk(root, path, image) : openImageFile(root, path ?? '', image);
  const { file, path: foundAt, status } = found;
  try {
    refuseUnreadable(found, owner, image);
    const opened = { file, path: foundAt, identity: mountedFile(status) };
    if (kind === 'file') return { ...opened, disk: undefined };
    using readable = reopenForReading(file);
    const disk = verifyDisk(readable.number, `${foundAt} in ${image}`, { allowFormats });
    return { ...opened, disk };
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
}
