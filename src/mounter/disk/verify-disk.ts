import type { Disk } from './disk.ts';
import { DiskFile } from './disk-file.ts';
import { formatByHead, formatByTail, type OtherFormat } from './other-format.ts';
import { isQcow } from './qcow2-header.ts';
import { rawContent } from './raw-content.ts';
import { verifyQcow2 } from './verify-qcow2.ts';

const sectorSize = 512;

export interface VerifyDiskOptions {
  /** Formats besides qcow2 and raw that are not refused. Nothing of their contents is verified. */
  readonly allowFormats?: readonly OtherFormat[];
}

/**
 * Verifies a disk before a virtual machine gets it, by its header. It is qcow2 that stands alone, or raw:
 * a raw disk is one that QEMU would not take for any other format either. Reads less than 64 KiB of the file.
 *
 * @param fd open for reading; stays open, its offset stays where it is
 * @param path what the disk is called in messages
 * @throws {DiskRefusedError}
 */
export function verifyDisk(fd: number, path: string, options: VerifyDiskOptions = {}): Disk {
  const disk = new DiskFile(fd, path);
  const sizes = { fileSize: disk.size, allocatedSize: disk.allocatedSize };
  const isQcow2 = isQcow(disk);
  const format = formatByHead(disk) ?? (isQcow2 ? undefined : formatByTail(disk));
  if (format !== undefined) {
    if (options.allowFormats?.includes(format)) return { format, virtualSize: undefined, ...sizes };
    throw disk.refused(
      'EFORMAT',
      `its format is ${format}, where qcow2 and raw are possible`,
      `Convert it: qemu-img convert -f ${format} -O qcow2 OLD NEW`,
    );
  }
  if (isQcow2) return verifyQcow2(disk);
  return {
    format: 'raw',
    virtualSize: Math.ceil(disk.size / sectorSize) * sectorSize,
    ...sizes,
    content: rawContent(disk),
  };
}
