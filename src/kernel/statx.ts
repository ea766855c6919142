import { constants } from 'node:os';
import { descriptorPath } from './descriptor.ts';
import { tryCall } from './libc.ts';
import { SyscallError } from './syscall-error.ts';
import { syscallNumber } from './syscall-number.ts';

const AT_EMPTY_PATH = 0x1000;
const AT_NO_AUTOMOUNT = 0x800;
const AT_STATX_DONT_SYNC = 0x4000;
const STATX_BASIC_STATS = 0x7ff;
const STATX_MNT_ID = 0x1000;
const STATX_ATTR_MOUNT_ROOT = 0x2000;

/** What statx(2) says of a file. Times are left out; sizes are in bytes. */
export interface FileStatus {
  /** File type and permissions, as `stx_mode`. */
  readonly mode: number;
  /** Number of hard links. */
  readonly nlink: number;
  readonly uid: number;
  readonly gid: number;
  readonly ino: bigint;
  readonly size: bigint;
  readonly device: DeviceNumber;
  /** The device that a device node stands for. */
  readonly rdev: DeviceNumber;
  /** `stx_mnt_id`, as in the first field of mountinfo. */
  readonly mountId: bigint;
  /** STATX_ATTR_MOUNT_ROOT, Linux 5.8: the file is the root of a mount. */
  readonly isMountRoot: boolean;
}

export interface DeviceNumber {
  readonly major: number;
  readonly minor: number;
}

/**
 * statx(2) of an open file, which may be open with O_PATH. It says what the kernel knows, and asks no server of a
 * FUSE or network file system, which might not answer.
 *
 * `struct statx` (256 bytes) on every architecture: mask 0, attributes 8, nlink 16, uid 20, gid 24, mode 28 (16 bits),
 * ino 32, size 40, attributes_mask 56, rdev_major 128, rdev_minor 132, dev_major 136, dev_minor 140, mnt_id 144.
 *
 * @throws SyscallError ENOSYS before Linux 5.8, where the root of a mount would pass for an ordinary file
 */
export function statx(fd: number): FileStatus {
  return statxOf(fd, '', AT_EMPTY_PATH);
}

/**
 * The same of a path below an open directory that is trusted; links are followed.
 *
 * @throws SyscallError ENOENT…
 */
export function statxAt(directory: number, path: string): FileStatus {
  return statxOf(directory, path, 0);
}

const struct = Buffer.alloc(256);

function statxOf(fd: number, path: string, flags: number): FileStatus {
  const result = tryCall(
    'long syscall(long number, int dirfd, const char *path, int flags, unsigned int mask, uint8_t *buffer)',
    'statx',
    syscallNumber('statx'),
    fd,
    path,
    flags | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
    STATX_BASIC_STATS | STATX_MNT_ID,
    struct,
  );
  const about = () => (path === '' ? descriptorPath(fd) : `${descriptorPath(fd)}/${path}`);
  if (result < 0) throw new SyscallError(-result, 'statx', about());
  if ((struct.readUInt32LE(56) & STATX_ATTR_MOUNT_ROOT) === 0) {
    const detail = 'the kernel does not tell the root of a mount, Linux 5.8 or later is needed';
    throw new SyscallError(constants.errno.ENOSYS, 'statx', about(), detail);
  }
  return {
    mode: struct.readUInt16LE(28),
    nlink: struct.readUInt32LE(16),
    uid: struct.readUInt32LE(20),
    gid: struct.readUInt32LE(24),
    ino: struct.readBigUInt64LE(32),
    size: struct.readBigUInt64LE(40),
    rdev: { major: struct.readUInt32LE(128), minor: struct.readUInt32LE(132) },
    device: { major: struct.readUInt32LE(136), minor: struct.readUInt32LE(140) },
    mountId: struct.readBigUInt64LE(144),
    isMountRoot: (struct.readUInt32LE(8) & STATX_ATTR_MOUNT_ROOT) !== 0,
  };
}

/** Whether two files are one: the same inode of the same file system. */
export function isSameFile(one: FileStatus, other: FileStatus): boolean {
  return (
    one.ino === other.ino &&
    one.device.major === other.device.major &&
    one.device.minor === other.device.minor
  );
}
