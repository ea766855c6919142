import { basename } from 'node:path';
import { verifyDisk } from '../../src/mounter/disk/verify-disk.ts';
import type { Image } from './layout.ts';
import type { OpenedFiles } from './opened-files.ts';
import type { Reference } from './reference.ts';

/** QEMU's uid and gid in KubeVirt's pods. */
const owner = { uid: 107, gid: 107 };

export interface DiskImageOptions {
  readonly disk: string;
  readonly reference: Reference;
  readonly architecture: string;
  readonly created: Date;
}

/**
 * A container disk image: nothing but `/disk/<file>`, for QEMU's user alone to read.
 *
 * @param files closed by whoever writes the image
 * @throws {DiskRefusedError} where the mounter would refuse it
 */
export function diskImage(files: OpenedFiles, options: DiskImageOptions): Image {
  const { disk, reference, architecture, created } = options;
  const { fd, size } = files.open(disk, 'Give the path of a qcow2 or raw file');
  const { format, virtualSize } = verifyDisk(fd, disk);
  return {
    reference,
    created,
    architecture,
    entries: [
      { type: 'directory', path: 'disk', owner, mode: 0o555 },
      { type: 'file', path: `disk/${basename(disk)}`, owner, mode: 0o440, fd, size },
    ],
    labels: {
      'org.opencontainers.image.created': created.toISOString(),
      'org.opencontainers.image.description': `Container disk: ${format}, ${virtualSize} bytes for the guest.`,
      'org.opencontainers.image.title': basename(disk),
    },
  };
}
