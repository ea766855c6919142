import { closeSync, constants, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { HolderError, isSystemError } from './holder-error.ts';

/** An open directory; names in it are reached through {@link entry}, however long the path to it is. */
export class Directory implements Disposable {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Opens a directory; it is made, with every level above it, where it is missing (mode 0777 less umask). */
  static make(path: string): Directory {
    try {
      makeWithParents(path);
    } catch (error) {
      throw HolderError.from(error, 'cannot make the directory', path);
    }
    return Directory.open(path);
  }

  static open(path: string): Directory {
    try {
      return new Directory(openSync(path, constants.O_RDONLY | constants.O_DIRECTORY));
    } catch (error) {
      throw HolderError.from(error, 'cannot open the directory', path);
    }
  }

  /** A short path to the name in this directory: proc_pid_fd(5). */
  entry(name: string): string {
    return `/proc/self/fd/${this.#fd}/${name}`;
  }

  /** The descriptor, as long as this is not disposed of. */
  get fd(): number {
    return this.#fd;
  }

  /** A short path to the directory itself. */
  get path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** `mkdirSync` with `recursive` says ENOENT whatever the reason was, for instance where the file system is read-only. */
function makeWithParents(path: string): void {
  const missing = [];
  for (let level = path; !existsSync(level); level = dirname(level)) missing.push(level);
  for (const level of missing.reverse()) {
    try {
      mkdirSync(level);
    } catch (error) {
      if (!(isSystemError(error) && error.code === 'EEXIST')) throw error;
    }
  }
}
