import { tryCall } from './libc.ts';
import { pathFromBytes } from './path-bytes.ts';
import { SyscallError } from './syscall-error.ts';
import { syscallNumber } from './syscall-number.ts';

/** `d_type` of readdir(3). */
export const DT_UNKNOWN = 0;
export const DT_DIR = 4;
export const DT_BLK = 6;
export const DT_REG = 8;

export interface DirectoryEntry {
  readonly name: string;
  /** DT_*; DT_UNKNOWN where the file system does not tell. What is mounted on the name has no say in it. */
  readonly type: number;
}

const buffer = Buffer.alloc(32 * 1024);

/**
 * The entries of a directory, `.` and `..` left out: getdents64(2).
 *
 * `struct linux_dirent64`: d_ino 0 and d_off 8 of 64 bits, d_reclen 16 of 16 bits, d_type 18 of 8 bits, and from 19 on
 * d_name, which ends with a null byte.
 *
 * @param fd open for reading
 * @param most how many are read; a directory can have more
 * @throws SyscallError
 */
export function directoryEntries(fd: number, most: number): DirectoryEntry[] {
  const entries: DirectoryEntry[] = [];
  while (entries.length < most) {
    const length = tryCall(
      'long syscall(long number, int fd, uint8_t *buffer, size_t size)',
      'getdents64',
      syscallNumber('getdents64'),
      fd,
      buffer,
      buffer.length,
    );
    if (length < 0) throw new SyscallError(-length, 'getdents64');
    if (length === 0) break;
    for (let at = 0; at < length && entries.length < most; at += buffer.readUInt16LE(at + 16)) {
      const name = pathFromBytes(buffer.subarray(at + 19, buffer.indexOf(0, at + 19)));
      if (name !== '.' && name !== '..') entries.push({ name, type: buffer[at + 18] ?? 0 });
    }
  }
  return entries;
}
