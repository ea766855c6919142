import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Disk } from '../../../src/mounter/disk/disk.ts';
import { DiskRefusedError } from '../../../src/mounter/disk/disk-refused-error.ts';
import { type VerifyDiskOptions, verifyDisk } from '../../../src/mounter/disk/verify-disk.ts';

/** Verifies the file of that name. */
export function verifyFile(path: string, options?: VerifyDiskOptions): Disk {
  const fd = openSync(path, 'r');
  try {
    return verifyDisk(fd, path, options);
  } finally {
    closeSync(fd);
  }
}

/** Why the file is refused; undefined where it is not. Any other error is passed on. */
export function refusalOf(path: string, bytes?: Uint8Array): DiskRefusedError | undefined {
  if (bytes !== undefined) writeFileSync(path, bytes);
  try {
    verifyFile(path);
    return undefined;
  } catch (error) {
    if (error instanceof DiskRefusedError) return error;
    throw error;
  }
}
