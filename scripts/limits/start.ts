import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accepts } from '../demo/accepts.ts';
import { LimitedCgroup, type Limits } from './limited-cgroup.ts';

/** One start of a program under limits. */
export interface Start {
  /** Milliseconds until the socket accepts. */
  readonly socket: number;
  /** Milliseconds until `--no-op` has ended. */
  readonly noOp: number;
  /** Bytes: the most of the cgroup's memory that the holder used. */
  readonly peak: number;
}

/** @throws where the program ends before its socket accepts, as when it is killed for want of memory */
export async function measureStart(
  program: string,
  limits: Limits,
  scratch: string,
  isCached: boolean,
  signal: AbortSignal,
): Promise<Start> {
  if (!isCached) evict(program);
  const noOp = await measureNoOp(program, limits, signal);
  if (!isCached) evict(program);
  const path = join(scratch, 'disk_0');
  await using cgroup = new LimitedCgroup(limits);
  const [command = '', ...argv] = [...cgroup.command, program, '--copy-path', path];
  const start = performance.now();
  const child = spawn(command, argv, { stdio: 'ignore' });
  const exit = once(child, 'exit');
  try {
    while (!(await accepts(`${path}.sock`))) {
      signal.throwIfAborted();
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`${program} ended with ${child.signalCode ?? child.exitCode}`);
      }
      await sleep(1);
    }
    return { socket: performance.now() - start, noOp, peak: cgroup.peak };
  } finally {
    child.kill('SIGKILL');
    await exit;
    rmSync(`${path}.sock`, { force: true });
  }
}

async function measureNoOp(program: string, limits: Limits, signal: AbortSignal): Promise<number> {
  await using cgroup = new LimitedCgroup(limits);
  const [command = '', ...argv] = [...cgroup.command, program, '--no-op'];
  const start = performance.now();
  const child = spawn(command, argv, { stdio: 'ignore' });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const [code, ended] = await once(child, 'exit');
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`${program} --no-op ended with ${ended ?? code}`);
  return performance.now() - start;
}

/** Drops a file that nobody has mapped from the page cache (posix_fadvise(2), POSIX_FADV_DONTNEED). */
function evict(file: string): void {
  execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}
