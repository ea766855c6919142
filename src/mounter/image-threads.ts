import { closeSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { Descriptor } from '../kernel/descriptor.ts';
import { startWorker } from '../kernel/start-worker.ts';
import type { Disk } from './disk/disk.ts';
import type { ImageJob, OpenedImageFile } from './image-job.ts';
import { MounterError } from './mounter-error.ts';
import { type ErrorParts, errorOf } from './thread-error.ts';

export type ImageJobResult =
  | { readonly file: number; readonly path: string; readonly disk: Disk | undefined }
  | { readonly error: ErrorParts };

/** How many threads work at a time. */
const most = 4;

/** How many threads may wait for file systems that do not answer, before no more are given up for them. */
const mostStuck = 16;

interface Waiting {
  readonly job: ImageJob;
  readonly timeout: number;
  readonly resolve: (opened: OpenedImageFile) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Threads that open the files of images. The file system of an image can be a FUSE or network one (snapshotters that
 * pull lazily have such), and a system call on it can wait for ever for a server; so it is not this thread that does.
 * One that has not answered in time is given up, and what it brings later is closed.
 */
export class ImageThreads implements AsyncDisposable {
  readonly #idle: Worker[] = [];
  readonly #queue: Waiting[] = [];
  #working = 0;
  #stuck = 0;

  /** Whether a thread waits for a file system. The process cannot end as usual before that has answered. */
  get isStuck(): boolean {
    return this.#stuck > 0;
  }

  /** Starts a thread before there is a job, so that the first one need not wait for it. */
  start(): void {
    if (this.#working + this.#idle.length === 0) this.#idle.push(this.#newWorker());
  }

  /**
   * @param timeout milliseconds
   * @throws MounterError EDISK, ETIMEDOUT; DiskRefusedError
   */
  open(job: ImageJob, timeout: number): Promise<OpenedImageFile> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ job, timeout, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#working >= most) return;
    const waiting = this.#queue.shift();
    if (waiting === undefined) return;
    if (this.#stuck >= mostStuck) {
      closeSync(waiting.job.root);
      waiting.reject(
        new MounterError(
          'ETIMEDOUT',
          `${waiting.job.image} is not looked at: ${this.#stuck} threads wait for file systems of other images that do not answer`,
        ),
      );
      this.#next();
      return;
    }
    let worker: Worker;
    try {
      worker = this.#idle.pop() ?? this.#newWorker();
    } catch (error) {
      closeSync(waiting.job.root);
      waiting.reject(error);
      this.#next();
      return;
    }
    this.#start(worker, waiting);
  }

  #start(worker: Worker, { job, timeout, resolve, reject }: Waiting): void {
    this.#working += 1;
    let isGivenUp = false;
    const finish = (isUsable: boolean) => {
      clearTimeout(timer);
      worker.off('message', answered);
      worker.off('error', failed);
      if (isGivenUp) {
        this.#stuck -= 1;
        void worker.terminate();
        return;
      }
      this.#working -= 1;
      worker.unref();
      if (isUsable) this.#idle.push(worker);
      this.#next();
    };
    const timer = setTimeout(() => {
      isGivenUp = true;
      this.#working -= 1;
      this.#stuck += 1;
      worker.unref();
      reject(
        new MounterError(
          'ETIMEDOUT',
          `the file system of ${job.image} has not answered for ${timeout} ms`,
        ),
      );
      this.#next();
    }, timeout);
    const answered = (result: ImageJobResult) => {
      finish(true);
      if ('error' in result) reject(errorOf(result.error));
      else if (isGivenUp) closeSync(result.file);
      else resolve({ ...result, file: new Descriptor(result.file) });
    };
    const failed = (error: unknown) => {
      finish(false);
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    worker.on('message', answered);
    worker.on('error', failed);
    worker.ref();
    worker.postMessage(job);
  }

  #newWorker(): Worker {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = startWorker(new URL(`./image-worker.${extension}`, import.meta.url));
    worker.unref();
    // One that fails while it has no job is not taken for the next, which then tells of the failure.
    worker.on('error', () => {
      const position = this.#idle.indexOf(worker);
      if (position >= 0) this.#idle.splice(position, 1);
    });
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((worker) => worker.terminate()));
  }
}
