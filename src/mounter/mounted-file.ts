import type { FileStatus } from '../kernel/statx.ts';

/** Which file it is: of which file system, and which there. It is the same in every mount namespace. */
export interface MountedFile {
  /** `major:minor` of the file system. */
  readonly fileSystem: string;
  readonly inode: string;
}

export function mountedFile({ device, ino }: FileStatus): MountedFile {
  return { fileSystem: `${device.major}:${device.minor}`, inode: String(ino) };
}

export function isSameMountedFile(
  one: MountedFile | undefined,
  other: MountedFile | undefined,
): boolean {
  return one !== undefined && one.fileSystem === other?.fileSystem && one.inode === other.inode;
}
