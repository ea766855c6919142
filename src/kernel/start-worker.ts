import { Worker } from 'node:worker_threads';
import { hasCode } from './syscall-error.ts';

/** A thread cannot be started. */
export class ThreadStartError extends Error {
  override readonly name = 'ThreadStartError';
  readonly code = 'ETHREAD';

  constructor(why: string, options: ErrorOptions) {
    super(
      `cannot start a thread: ${why} (EAGAIN: is pids.max of the cgroup or RLIMIT_NPROC reached? EMFILE: too many open files, RLIMIT_NOFILE)`,
      options,
    );
  }
}

/** What a thread gets to start with; see serve-jobs.ts for its side. */
export interface WorkerStart<Data> {
  /** Becomes 1 when it has loaded all that it needs. */
  readonly loaded: Int32Array;
  readonly data: Data;
}

/** The message after which no job follows. */
export const endOfJobs = 'end of jobs';

/** Of the threads that there are; each is looked at only at the end. */
const loading = new Set<Int32Array>();

/** Milliseconds that a process waits at its end for a thread that loads. */
const patience = 2000;

/**
 * Starts a thread with a script of its own, which passes descriptors to and fro.
 *
 * It is never stopped in the middle: Node.js aborts the whole process when a thread is stopped, by `terminate` or at
 * the process's end, while it initializes a native module. {@link endWorker} ends it.
 *
 * @throws ThreadStartError
 */
export function startWorker<Data>(script: URL, data: Data): Worker {
  const loaded = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let worker: Worker;
  try {
    worker = new Worker(script, {
      // Those of the process are for its own script: `--eval` or `--input-type` would keep this one from starting.
      execArgv: [],
      // Descriptors go from one thread to another here.
      trackUnmanagedFds: false,
      workerData: { loaded, data } satisfies WorkerStart<Data>,
    });
  } catch (error) {
    throw workerError(error);
  }
  if (loading.size === 0) process.on('exit', awaitLoading);
  loading.add(loaded);
  worker.once('exit', () => {
    loading.delete(loaded);
    if (loading.size === 0) process.off('exit', awaitLoading);
  });
  return worker;
}

/** What a thread has ended with, which can be that it could not start. */
export function workerError(cause: unknown): Error {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  if (!hasCode(cause, 'ERR_WORKER_INIT_FAILED')) return error;
  return new ThreadStartError(error.message, { cause });
}

/** Has a thread end once it has done what it was given. */
export async function endWorker(worker: Worker): Promise<void> {
  // It has ended already.
  if (worker.threadId === -1) return;
  worker.ref();
  await new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
    worker.postMessage(endOfJobs);
  });
}

function awaitLoading(): void {
  const deadline = performance.now() + patience;
  for (const loaded of loading) {
    Atomics.wait(loaded, 0, 0, Math.max(deadline - performance.now(), 0));
  }
}
