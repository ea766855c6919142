import { parentPort, workerData } from 'node:worker_threads';
import { koffi } from './libc.ts';
import { endOfJobs, type WorkerStart } from './start-worker.ts';

/** What the thread was started with; see start-worker.ts for the other side. */
export function startData<Data>(): Data {
  return (workerData as WorkerStart<Data>).data;
}

/**
 * The body of a thread: answers one message after another until there are no more jobs. What `answer` throws ends the
 * thread, and is the `error` event of the other side.
 */
export function serveJobs<Job, Answer>(answer: (job: Job) => Answer): void {
  const { loaded } = workerData as WorkerStart<unknown>;
  try {
    koffi();
  } finally {
    Atomics.store(loaded, 0, 1);
    Atomics.notify(loaded, 0);
  }
  parentPort?.on('message', (message: Job | typeof endOfJobs) => {
    if (message === endOfJobs) parentPort?.close();
    else parentPort?.postMessage(answer(message as Job));
  });
}
