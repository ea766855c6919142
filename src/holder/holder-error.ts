import { getSystemErrorMessage } from 'node:util';

/**
 * A failure of `container-disk`, in the words that the person on call needs.
 *
 * `message` is `<what> <path>: <why>`; `code` is the errno name (`EACCES`) where a system call failed, and
 * otherwise one of the program's own: `EINUSE`, `ENOTSOCKET`, `EPATH`, `ENOEXECMOUNT`, `EUSAGE`.
 */
export class HolderError extends Error {
  override readonly name = 'HolderError';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Wraps what a system call threw; anything that is not a system error is passed on as it is. */
  static from(error: unknown, what: string, path: string): Error {
    if (!isSystemError(error)) return error instanceof Error ? error : new Error(String(error));
    return new HolderError(error.code, `${what} ${printable(path)}: ${reason(error)}`, {
      cause: error,
    });
  }
}

/** By its name: what is loaded when it is needed has a class of its own in the built program. */
export function isHolderError(error: unknown): error is HolderError {
  return error instanceof Error && error.name === 'HolderError';
}

/** An error of a system call as Node.js throws it: errno(3) by name and, negated, by number. */
export type SystemError = Error & { code: string; errno: number };

export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'errno' in error && 'code' in error;
}

/** The text of strerror(3) with the name of the errno: `permission denied (EACCES)`. */
export function reason(error: SystemError): string {
  return `${getSystemErrorMessage(error.errno)} (${error.code})`;
}

const ascii = /^[ -~]*$/;

/** Compiled when there is need for it: the tables of these classes take a twentieth of the time of a start. */
const unprintable = '[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]';
const longestShown = 400;

/** A path as one line of a log may hold it: control characters escaped, the middle of a very long one left out. */
export function printable(path: string): string {
  const escaped = ascii.test(path) ? path : path.replace(new RegExp(unprintable, 'gu'), codePoint);
  if (escaped.length <= longestShown) return escaped;
  const half = longestShown / 2;
  return `${escaped.slice(0, half)}…${escaped.slice(-half)}`;
}

function codePoint(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
