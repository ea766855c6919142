import { constants, readFileSync } from 'node:fs';
import { Descriptor } from './descriptor.ts';
import { O_PATH } from './open-flags.ts';
import { isAlive } from './pidfd.ts';
import { type FileStatus, statxAt } from './statx.ts';
import { hasCode } from './syscall-error.ts';

/** The process that was meant is not there any more. */
export class ProcessGoneError extends Error {
  override readonly name = 'ProcessGoneError';
  readonly code = 'ESRCH';
  readonly pid: number;

  constructor(pid: number) {
    super(`process ${pid} has ended (is its container restarting?)`);
    this.pid = pid;
  }
}

/**
 * A process and its directory of /proc, both held by descriptors: whatever is read here is of this process, also
 * when its pid has been given to another.
 */
export class ProcessHandle implements Disposable {
  readonly pid: number;
  readonly #pidfd: Descriptor;
  readonly #directory: Descriptor;

  /**
   * @param pidfd of that process; it is owned from here on
   * @throws ProcessGoneError
   */
  constructor(pid: number, pidfd: Descriptor) {
    this.pid = pid;
    this.#pidfd = pidfd;
    try {
      this.#directory = Descriptor.open(`/proc/${pid}`, O_PATH | constants.O_DIRECTORY);
    } catch (error) {
      pidfd[Symbol.dispose]();
      throw isMissing(error) ? new ProcessGoneError(pid) : error;
    }
    if (!isAlive(pidfd)) {
      this[Symbol.dispose]();
      throw new ProcessGoneError(pid);
    }
  }

  /** Whether its pid is still its own; that of a zombie is. */
  get isAlive(): boolean {
    return isAlive(this.#pidfd);
  }

  /** Whether it has ended, also where nobody has waited for it yet: proc_pid_stat(5), state Z or X. */
  get hasEnded(): boolean {
    if (!this.isAlive) return true;
    try {
      const stat = this.read('stat').toString('latin1');
      return /[ZX]/.test(stat.charAt(stat.lastIndexOf(')') + 2));
    } catch (error) {
      if (isMissing(error)) return true;
      throw error;
    }
  }

  /** A path below the process's directory of /proc, which stays its own. */
  path(name: string): string {
    return this.#directory.entry(name);
  }

  read(name: string): Buffer {
    return readFileSync(this.path(name));
  }

  /** The same of a file that has no other characters than those of ASCII. */
  readText(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  /**
   * The process's root directory (proc_pid_root(5)), open with O_PATH.
   *
   * @throws ProcessGoneError; a process that nobody has waited for is there still, but has none
   */
  root(): Descriptor {
    try {
      return Descriptor.open(this.path('root'), O_PATH | constants.O_DIRECTORY);
    } catch (error) {
      throw isMissing(error) ? new ProcessGoneError(this.pid) : error;
    }
  }

  /** Which file the process's mount namespace is (namespaces(7)). @throws ProcessGoneError */
  mountNamespace(): FileStatus {
    try {
      return statxAt(this.#directory.number, 'ns/mnt');
    } catch (error) {
      throw isMissing(error) ? new ProcessGoneError(this.pid) : error;
    }
  }

  /** A descriptor of the process, for setns(2) into its mount namespace (Linux 5.8). */
  get pidfd(): number {
    return this.#pidfd.number;
  }

  [Symbol.dispose](): void {
    this.#pidfd[Symbol.dispose]();
    this.#directory[Symbol.dispose]();
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ESRCH');
}
