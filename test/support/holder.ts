import { type ChildProcess, spawn } from 'node:child_process';
import { lstatSync, watch } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

/** The built program. */
export const program = join(import.meta.dirname, '../../dist/container-disk');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program (or another), started with arguments, and what became of it. */
export class Run {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stderr = '';
  #stdout = '';

  constructor(
    t: Test,
    argv: readonly string[],
    options: { cwd?: string; command?: readonly string[] } = {},
  ) {
    const [command = program, ...prefix] = options.command ?? [program];
    this.child = spawn(command, [...prefix, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: options.cwd,
    });
    this.child.stdout?.on('data', (chunk) => {
      this.#stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        resolve({ code, signal, stdout: this.#stdout, stderr: this.stderr });
      });
    });
    t.teardown(() => {
      this.child.kill('SIGKILL');
    });
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('the program was not started');
    return this.child.pid;
  }
}

/** Waits until there is something at the path; by looking often, so that it does not need inotify. */
export async function appears(path: string, run: Run, milliseconds = 10_000): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
    if (run.child.exitCode !== null) throw new Error(`the program ended: ${run.stderr}`);
    if (performance.now() > deadline) throw new Error(`${path} did not appear: ${run.stderr}`);
    await sleep(1);
  }
}

/** Connects to a socket; resolves with the errno of what went wrong, or with `accepted` once it is closed by the other side. */
export function knock(path: string): Promise<string> {
  return new Promise((resolve) => {
    const client = connect({ path });
    client.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    client.once('end', () => client.end());
    client.once('close', (hadError) => {
      if (!hadError) resolve('accepted');
    });
    client.resume();
  });
}

/** Connects in the very moment that the name appears in its directory. */
export function knockAtOnce(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const watcher = watch(dirname(path), (_event, name) => {
      if (name !== basename(path)) return;
      watcher.close();
      resolve(knock(path));
    });
    watcher.once('error', reject);
  });
}
