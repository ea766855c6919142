import { basename, dirname } from 'node:path';
import { HolderError, printable } from './holder-error.ts';

/** Where a socket is: unix(7) names are looked up like any other file's. */
export interface SocketPath {
  /** The whole path, `<copy path>.sock`. */
  readonly path: string;
  readonly directory: string;
  /** The last name, at most {@link longestName} bytes. */
  readonly name: string;
}

/** Bytes that `sun_path` of unix(7) holds before its terminating NUL byte. */
export const longestName = 107;

/** PATH_MAX of limits.h less its NUL byte: what open(2) takes. */
const longestPath = 4095;

const suffix = '.sock';

/**
 * The socket of a copy path, as KubeVirt's pods name it with `--copy-path`.
 *
 * The directory may be as long as a path can be. The last name has to fit into `sun_path`, or nobody who
 * stands in the directory could connect to it.
 *
 * @throws HolderError EPATH
 */
export function socketPath(copyPath: string): SocketPath {
  const path = copyPath + suffix;
  const name = basename(path);
  const refuse = (why: string) =>
    new HolderError('EPATH', `cannot use the copy path ${printable(copyPath)}: ${why}`);
  if (copyPath === '') throw new HolderError('EPATH', 'cannot use the copy path: it is empty');
  if (copyPath.includes('\0')) throw refuse('it holds a NUL byte');
  if (copyPath.endsWith('/')) throw refuse('it ends in a slash, and so names no file');
  const nameBytes = Buffer.byteLength(name);
  if (nameBytes > longestName) {
    throw refuse(
      `its last name with ${suffix} is ${nameBytes} bytes long, a socket's name can have ${longestName}`,
    );
  }
  const pathBytes = Buffer.byteLength(path);
  if (pathBytes > longestPath) {
    throw refuse(`with ${suffix} it is ${pathBytes} bytes long, a path can have ${longestPath}`);
  }
  return { path, directory: dirname(path), name };
}
