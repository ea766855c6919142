import koffi, { type LibraryHandle } from 'koffi';
import { SyscallError } from './syscall-error.ts';

/** An argument of a system call as koffi takes it. */
export type Argument = number | bigint | string | Uint8Array | null;
type Native = (...values: Argument[]) => number | bigint;

const functions = new Map<string, Native>();
let library: LibraryHandle | undefined;

/**
 * A function of libc by its C prototype, looked up when it is first called.
 *
 * glibc's variadic syscall(2) takes its arguments in the registers of any other function on x86-64 and arm64, so
 * that a prototype with fixed arguments serves.
 */
export function libc(prototype: string): Native {
  let found = functions.get(prototype);
  if (found === undefined) {
    library ??= koffi.load('libc.so.6');
    found = library.func(prototype) as Native;
    functions.set(prototype, found);
  }
  return found;
}

/** Calls a function that returns -1 and sets errno(3) when it fails. */
export function call(
  prototype: string,
  name: string,
  path: string | undefined,
  ...values: Argument[]
): number {
  for (;;) {
    const result = Number(libc(prototype)(...values));
    if (result !== -1) return result;
    const errno = koffi.errno();
    if (errno !== koffi.os.errno['EINTR']) throw new SyscallError(errno, name, path);
  }
}
