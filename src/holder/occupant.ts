import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import { connect } from 'node:net';
import { HolderError, isSystemError, printable, reason } from './holder-error.ts';

/** O_PATH of open(2), which `fs.constants` lacks; the same number on every architecture that Node.js is built for. */
const O_PATH = 0o10000000;

/** The identity of a file: `st_dev` and `st_ino` of stat(2). */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * What is at a socket's path before it is ours.
 *
 * `free`: nothing. `stale`: a socket that nobody listens on, left by a process that was killed.
 */
export type Occupant = { state: 'free' } | { state: 'stale'; identity: FileIdentity };

/**
 * Looks at what is at `entry`, without following a link and without changing anything.
 *
 * @param entry the path that is opened
 * @param path the path as the user knows it, for messages
 * @throws HolderError EINUSE where somebody listens there, ENOTSOCKET where it is not a socket
 */
export async function occupant(entry: string, path: string): Promise<Occupant> {
  let fd: number;
  try {
    fd = openSync(entry, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return { state: 'free' };
    throw HolderError.from(error, 'cannot look at', path);
  }
  try {
    const status = fstatSync(fd);
    if (!status.isSocket()) {
      throw new HolderError(
        'ENOTSOCKET',
        `cannot make the socket ${printable(path)}: ${kind(status)} is there already, and is left as it is`,
      );
    }
    await refuseIfListening(`/proc/self/fd/${fd}`, path);
    return { state: 'stale', identity: { dev: status.dev, ino: status.ino } };
  } finally {
    closeSync(fd);
  }
}

/** connect(2) to a socket that nobody listens on fails with ECONNREFUSED; every other answer is somebody's. */
function refuseIfListening(entry: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const client = connect({ path: entry });
    client.once('connect', () => {
      client.destroy();
      reject(inUse(path, 'another process listens on it'));
    });
    client.once('error', (error) => {
      if (!isSystemError(error)) reject(error);
      else if (error.code === 'ECONNREFUSED') resolve();
      else reject(inUse(path, `connecting to it says ${reason(error)}`));
    });
  });
}

function inUse(path: string, why: string): HolderError {
  return new HolderError('EINUSE', `cannot make the socket ${printable(path)}: ${why}`);
}

function kind(status: Stats): string {
  if (status.isDirectory()) return 'a directory';
  if (status.isSymbolicLink()) return 'a symbolic link';
  if (status.isFile()) return 'a regular file';
  if (status.isFIFO()) return 'a named pipe';
  return 'a device';
}
