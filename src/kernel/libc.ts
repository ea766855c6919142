import { createRequire } from 'node:module';
import { constants } from 'node:os';
import type Koffi from 'koffi';
import type { LibraryHandle } from 'koffi';
import { bytesFromPath, isTextPath } from './path-bytes.ts';
import { SyscallError } from './syscall-error.ts';

/** An argument of a system call as koffi takes it; a string is a path, as in {@link bytesFromPath}. */
export type Argument = number | bigint | string | Uint8Array | null;
type Native = (...values: Argument[]) => number | bigint;

const functions = new Map<string, Native>();
let loaded: typeof Koffi | undefined;
let library: LibraryHandle | undefined;

/** The foreign function interface takes some ten milliseconds to load: whoever calls nothing does not wait for it. */
export function koffi(): typeof Koffi {
  loaded ??= createRequire(import.meta.url)('koffi') as typeof Koffi;
  return loaded;
}

/**
 * A function of libc by its C prototype, looked up when it is first called.
 *
 * glibc's variadic syscall(2) takes its arguments in the registers of any other function on x86-64 and arm64, so
 * that a prototype with fixed arguments serves.
 */
function libc(prototype: string): Native {
  let found = functions.get(prototype);
  if (found === undefined) {
    library ??= koffi().load('libc.so.6');
    found = library.func(prototype) as Native;
    functions.set(prototype, found);
  }
  return found;
}

/**
 * Calls a function that returns -1 and sets errno(3) when it fails.
 *
 * @throws SyscallError; EINVAL for a path with a null byte, which would be another path to the kernel
 */
export function call(
  prototype: string,
  name: string,
  path: string | undefined,
  ...values: Argument[]
): number {
  const result = tryCall(prototype, name, ...values);
  if (result < 0) throw new SyscallError(-result, name, path);
  return result;
}

/**
 * The same where failures are usual, without the cost of an error.
 *
 * @returns errno(3), negated, where it fails
 * @throws SyscallError EINVAL for a path with a null byte
 */
export function tryCall(prototype: string, name: string, ...values: Argument[]): number {
  const native = libc(prototype);
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (typeof value === 'string' && special.test(value)) values[index] = pathArgument(value, name);
  }
  for (;;) {
    const result = Number(native(...values));
    if (result !== -1) return result;
    const errno = koffi().errno();
    if (errno !== constants.errno.EINTR) return -errno;
  }
}

/** What a path that stands for its bytes as they are does not have. */
const special = /[\0\ud800-\udfff]/;

function pathArgument(path: string, name: string): string | Uint8Array {
  if (path.includes('\0')) {
    const printable = path.replaceAll('\0', '\\0');
    throw new SyscallError(constants.errno.EINVAL, name, printable, 'the path has a null byte');
  }
  return isTextPath(path) ? path : bytesFromPath(`${path}\0`);
}
