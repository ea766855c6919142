import { Worker, type WorkerOptions } from 'node:worker_threads';
import { hasCode } from './syscall-error.ts';

/** A thread cannot be started. */
export class ThreadStartError extends Error {
  override readonly name = 'ThreadStartError';
  readonly code = 'ETHREAD';

  constructor(why: string, options: ErrorOptions) {
    super(
      `cannot start a thread: ${why} (EAGAIN: is pids.max of the cgroup or RLIMIT_NPROC reached?)`,
      options,
    );
  }
}

/**
 * Starts a thread with a script of its own, which passes descriptors to and fro.
 *
 * @throws ThreadStartError
 */
export function startWorker(script: URL, workerData?: WorkerOptions['workerData']): Worker {
  try {
    return new Worker(script, {
      // Those of the process are for its own script: `--eval` or `--input-type` would keep this one from starting.
      execArgv: [],
      // Descriptors go from one thread to another here.
      trackUnmanagedFds: false,
      workerData,
    });
  } catch (cause) {
    if (!hasCode(cause, 'ERR_WORKER_INIT_FAILED')) throw cause;
    throw new ThreadStartError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
