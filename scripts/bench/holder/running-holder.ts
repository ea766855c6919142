import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { HolderProgram } from './programs.ts';

/** A holder with its socket, in a directory of its own. */
export class RunningHolder implements AsyncDisposable {
  readonly socket: string;
  readonly pid: number;
  /** CPU time and time until a connection was accepted, in milliseconds. */
  readonly start: { readonly cpu: number; readonly time: number };
  readonly #directory: string;
  readonly #parent: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(
    directory: string,
    parent: ChildProcess,
    lines: AsyncIterator<string>,
    [pid = Number.NaN, cpu = Number.NaN, time = Number.NaN]: readonly number[],
  ) {
    this.#directory = directory;
    this.#parent = parent;
    this.#lines = lines;
    this.socket = join(directory, 'disk_0.sock');
    this.pid = pid;
    this.start = { cpu: cpu / 1e6, time: time / 1e6 };
  }

  /**
   * Starts it, and waits until it has accepted a connection.
   *
   * @param measure peers/measure.c, compiled: the parent of the holder
   */
  static async start(
    { path }: HolderProgram,
    { measure, scratch }: { readonly measure: string; readonly scratch: string },
  ): Promise<RunningHolder> {
    const directory = mkdtempSync(join(scratch, 'holder-'));
    const parent = spawn(measure, ['hold', directory, path], { stdio: ['pipe', 'pipe', 'ignore'] });
    try {
      const lines = createInterface(parent.stdout)[Symbol.asyncIterator]();
      return new RunningHolder(directory, parent, lines, numbers(await lines.next(), path));
    } catch (error) {
      parent.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** A number of /proc/PID/status: bytes where it says kB. */
  status(field: string): number {
    const text = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const found = new RegExp(`^${field}:\\s+(\\d+)( kB)?$`, 'm').exec(text);
    if (!found) throw new Error(`no ${field} in the status of ${this.pid}`);
    return Number(found[1]) * (found[2] ? 1024 : 1);
  }

  /** Context switches of all threads: each time that one of them woke, or was made to wait for another. */
  contextSwitches(): number {
    const tasks = `/proc/${this.pid}/task`;
    return readdirSync(tasks)
      .map((task) => readFileSync(join(tasks, task, 'status'), 'utf8'))
      .flatMap((text) => Array.from(text.matchAll(/voluntary_ctxt_switches:\s+(\d+)/g)))
      .reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Has the socket removed. @returns milliseconds until the process is gone */
  async remove(): Promise<number> {
    this.#parent.stdin?.end();
    const [code, time = Number.NaN] = numbers(await this.#lines.next(), this.socket);
    if (code !== 0) throw new Error(`the holder of ${this.socket} ended with ${code}`);
    return time / 1e6;
  }

  /** The holder ends with its parent. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#parent.exitCode === null && this.#parent.signalCode === null) {
      const ended = once(this.#parent, 'exit');
      this.#parent.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function numbers({ value, done }: IteratorResult<string>, about: string): number[] {
  if (done) throw new Error(`${about} ended, or did not accept a connection`);
  return String(value).split(' ').map(Number);
}
