import { constants } from 'node:os';
import { Descriptor } from './descriptor.ts';
import { tryCall } from './libc.ts';
import { O_CLOEXEC } from './open-flags.ts';
import { SyscallError } from './syscall-error.ts';
import { syscallNumber } from './syscall-number.ts';

/** How openat2(2) resolves a path (linux/openat2.h). */
export const RESOLVE_NO_XDEV = 0x01;
export const RESOLVE_NO_MAGICLINKS = 0x02;
export const RESOLVE_NO_SYMLINKS = 0x04;
export const RESOLVE_BENEATH = 0x08;
export const RESOLVE_IN_ROOT = 0x10;

export interface OpenHow {
  /** Flags of open(2); O_CLOEXEC is added. */
  readonly flags: number;
  /** Mode of a file that is made. */
  readonly mode?: number;
  /** RESOLVE_* */
  readonly resolve: number;
}

/** The renames of others can have a resolution fail with EAGAIN (openat2(2)); it is done over so often. */
const attempts = 128;

const { EAGAIN, ENOENT } = constants.errno;

/** `struct open_how`: three 64-bit numbers, 24 bytes: flags, mode, resolve. */
const struct = new BigUint64Array(3);
const bytes = new Uint8Array(struct.buffer);

/**
 * openat2(2), Linux 5.6.
 *
 * @param directory the descriptor that a relative path starts from
 * @throws SyscallError ENOENT, ELOOP, EXDEV, ENOTDIR, EACCES, ENOSYS…
 */
export function openat2(directory: number, path: string, how: OpenHow): Descriptor {
  const result = tryOpenat2(directory, path, how);
  if (result < 0) throw new SyscallError(-result, 'openat2', path);
  return new Descriptor(result);
}

/** The same; undefined where nothing is there. */
export function openat2IfThere(
  directory: number,
  path: string,
  how: OpenHow,
): Descriptor | undefined {
  const result = tryOpenat2(directory, path, how);
  if (result === -ENOENT) return undefined;
  if (result < 0) throw new SyscallError(-result, 'openat2', path);
  return new Descriptor(result);
}

/** @returns the descriptor, or errno(3), negated */
function tryOpenat2(directory: number, path: string, how: OpenHow): number {
  const { flags, mode = 0, resolve } = how;
  struct[0] = BigInt(flags | O_CLOEXEC);
  struct[1] = BigInt(mode);
  struct[2] = BigInt(resolve);
  for (let attempt = 1; ; attempt += 1) {
    const result = tryCall(
      'long syscall(long number, int dirfd, const char *path, const uint8_t *how, size_t size)',
      'openat2',
      syscallNumber('openat2'),
      directory,
      path,
      bytes,
      bytes.length,
    );
    if (result !== -EAGAIN || attempt === attempts) return result;
  }
}
