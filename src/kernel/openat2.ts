import { Descriptor } from './descriptor.ts';
import { call } from './libc.ts';
import { O_CLOEXEC } from './open-flags.ts';
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

/**
 * openat2(2), Linux 5.6. `struct open_how` is three 64-bit numbers, 24 bytes: flags, mode, resolve.
 *
 * @param directory the descriptor that a relative path starts from
 * @throws SyscallError ENOENT, ELOOP, EXDEV, ENOTDIR, EACCES, ENOSYS…
 */
export function openat2(directory: number, path: string, how: OpenHow): Descriptor {
  const struct = new BigUint64Array([
    BigInt(how.flags | O_CLOEXEC),
    BigInt(how.mode ?? 0),
    BigInt(how.resolve),
  ]);
  const bytes = new Uint8Array(struct.buffer);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return new Descriptor(
        call(
          'long syscall(long number, int dirfd, const char *path, const uint8_t *how, size_t size)',
          'openat2',
          path,
          syscallNumber('openat2'),
          directory,
          path,
          bytes,
          bytes.length,
        ),
      );
    } catch (error) {
      const isRaced = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isRaced || attempt === attempts) throw error;
    }
  }
}
