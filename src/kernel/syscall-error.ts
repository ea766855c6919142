import { constants } from 'node:os';
import { getSystemErrorMap, getSystemErrorName } from 'node:util';

/**
 * A failed system call, with the properties that Node.js's own errors have.
 *
 * `errno` is errno(3), negated as Node.js does; `code` is its name; `syscall` the call's; `path` what it was about.
 */
export class SyscallError extends Error {
  override readonly name = 'SyscallError';
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;
  readonly path?: string;

  /** @param errno the positive number of errno(3) */
  constructor(errno: number, syscall: string, path?: string, detail?: string) {
    const code = errnoName(errno);
    const about = path === undefined ? '' : ` '${path}'`;
    super(`${code}: ${detail ?? errnoText(errno, code)}, ${syscall}${about}`);
    this.code = code;
    this.errno = -errno;
    this.syscall = syscall;
    if (path !== undefined) this.path = path;
  }
}

/** Whether an error of Node.js or of this layer has one of the given names of errno(3). */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/**
 * The same failure, of a path that people know: not of a name alone, nor of one behind a descriptor.
 *
 * @param error of Node.js or of this layer; any other is given back as it is
 */
export function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error && 'errno' in error && 'syscall' in error)) return error;
  const { errno, syscall } = error;
  if (typeof errno !== 'number' || typeof syscall !== 'string') return error;
  return new SyscallError(Math.abs(errno), syscall, path);
}

/** libuv names most of them, `os.constants` the rest; what only the kernel knows has its number. */
function errnoName(errno: number): string {
  const name = getSystemErrorName(-errno);
  if (name.startsWith('E')) return name;
  const known = Object.entries(constants.errno).find(([, number]) => number === errno);
  return known?.[0] ?? `errno ${errno}`;
}

/** Where the text of libuv misleads, or is missing. */
const texts: Record<string, string> = {
  EDQUOT: 'disk quota exceeded',
  ELOOP: 'too many levels of symbolic links, or a link where none may be',
  ENOLINK: 'link has been severed',
  ENOSYS: 'function not implemented by this kernel',
  ESTALE: 'stale file handle',
  EXDEV: 'the path leads to another file system or out of its root',
};

/** Node.js makes a new map of all errors at every call, and some errors here are quite usual. */
let errorMap: ReturnType<typeof getSystemErrorMap> | undefined;

function errnoText(errno: number, code: string): string {
  errorMap ??= getSystemErrorMap();
  return texts[code] ?? errorMap.get(-errno)?.[1] ?? 'system call failed';
}
