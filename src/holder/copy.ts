import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Directory } from './directory.ts';
import { HolderError, isSystemError, printable } from './holder-error.ts';
import { refuseNoexec } from './noexec.ts';
import { sameContent } from './same-content.ts';

/** rwxr-xr-x: whoever runs the sidecar may execute it. */
const mode = 0o755;

/**
 * How often it starts anew when another copy to the same place took its temporary file away. Each does so once,
 * when it starts, as the file could be one that a killed copy has left.
 */
const attempts = 10;

/** What a copy did, and where the file is. */
export interface Copied {
  readonly path: string;
  readonly outcome: 'copied' | 'unchanged';
}

/**
 * Copies a program to `destination`, or into it where it is a directory, as a file that can be executed.
 *
 * The file is complete whenever it can be seen: it is written under a temporary name, synced and renamed, so a
 * program that runs from the destination goes on. A reflink is made where the file system can. Where the
 * destination has the same content already, it stays.
 *
 * @param source a regular file
 * @param name the last name of the file where the destination is a directory
 * @throws HolderError ENOEXECMOUNT where nothing can be executed there, ENOTFILE, or the errno of what failed
 */
export function copy(source: string, name: string, destination: string): Copied {
  const path = filePath(name, destination);
  try {
    using directory = Directory.open(dirname(path));
    refuseNoexec(directory, path);
    const target = directory.entry(basename(path));
    if (isCopy(source, target, path)) return { path, outcome: 'unchanged' };
    replace(source, directory, basename(path));
    return { path, outcome: 'copied' };
  } catch (error) {
    throw HolderError.from(error, `cannot copy ${printable(source)} to`, path);
  }
}

function filePath(name: string, destination: string): string {
  if (destination === '') throw new HolderError('EPATH', 'cannot copy: the destination is empty');
  if (destination.includes('\0')) {
    throw new HolderError(
      'EPATH',
      `cannot copy to ${printable(destination)}: the path holds a NUL byte`,
    );
  }
  const isDirectory = statSync(destination, { throwIfNoEntry: false })?.isDirectory();
  if (isDirectory || destination.endsWith('/')) return join(destination, name);
  return destination;
}

/** Whether nothing is left to do; gives an equal file the mode that it may have lost. */
function isCopy(source: string, target: string, path: string): boolean {
  const there = lstatSync(target, { throwIfNoEntry: false });
  if (there === undefined || there.isSymbolicLink()) return false;
  if (!there.isFile()) {
    throw new HolderError(
      'ENOTFILE',
      `cannot copy to ${printable(path)}: something that is not a regular file is there, and is left as it is`,
    );
  }
  if (!sameContent(source, target)) return false;
  if (permissions(there) !== mode) chmodSync(target, mode);
  return true;
}

function permissions(status: Stats): number {
  return status.mode & 0o7777;
}

function replace(source: string, directory: Directory, name: string): void {
  const prefix = `.${name}.copying-`;
  for (const left of readdirSync(directory.path)) {
    if (left.startsWith(prefix)) rmSync(directory.entry(left), { force: true });
  }
  for (let attempt = 1; ; attempt += 1) {
    const temporary = directory.entry(prefix + process.hrtime.bigint().toString(36));
    try {
      copyFileSync(source, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      chmodSync(temporary, mode);
      sync(temporary);
      renameSync(temporary, directory.entry(name));
      sync(directory.path);
      return;
    } catch (error) {
      const taken = isSystemError(error) && error.code === 'ENOENT';
      if (!taken || attempt === attempts) throw error;
    } finally {
      rmSync(temporary, { force: true });
    }
  }
}

function sync(path: string): void {
  const fd = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
