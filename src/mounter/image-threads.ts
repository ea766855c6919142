import type { Worker } from 'node:worker_threads';
import type { Descriptor } from '../kernel/descriptor.ts';
import { endWorker, startWorker } from '../kernel/start-worker.ts';
import type { ImageJob, OpenedImageFile } from './image-job.ts';
import { ImageRun, WantedImageFile } from './image-run.ts';
import { MounterError } from './mounter-error.ts';

/** How many threads work at a time. */
const most = 4;

/** How many threads may wait for file systems that do not answer, before no more are given up for them. */
const mostStuck = 16;

/**
 * Threads that open the files of images. The file system of an image can be a FUSE or network one (snapshotters that
 * pull lazily have such), and a system call on it can wait for ever for a server; so it is not this thread that does.
 * One that has not answered in time is given up, and what it brings later is closed.
 *
 * Files that are asked for in one turn of the event loop go to one thread together, as waking it costs more than most
 * of them; where it turns out to be slow, the others take what it has not come to.
 */
export class ImageThreads implements AsyncDisposable {
  readonly #idle: Worker[] = [];
  readonly #queue: WantedImageFile[] = [];
  #working = 0;
  #stuck = 0;
  #isDisposed = false;

  /** Whether a thread waits for a file system. The process cannot end as usual before that has answered. */
  get isStuck(): boolean {
    return this.#stuck > 0;
  }

  /** Starts a thread before there is a job, so that the first one need not wait for it. */
  start(): void {
    if (this.#working + this.#idle.length === 0) this.#idle.push(this.#newWorker());
  }

  /**
   * @param job with the image's root, which is owned from here on
   * @param timeout milliseconds
   * @throws MounterError EDISK, ETIMEDOUT; DiskRefusedError
   */
  open(
    job: Omit<ImageJob, 'root'> & { readonly root: Descriptor },
    timeout: number,
  ): Promise<OpenedImageFile> {
    return new Promise((resolve, reject) => {
      // After the promises that are settled by now: those who waited for one thing go on to the next together.
      if (this.#queue.length === 0) queueMicrotask(() => process.nextTick(() => this.#dispatch()));
      this.#queue.push(new WantedImageFile(job, timeout, { resolve, reject }));
    });
  }

  #dispatch(): void {
    while (this.#working < most && this.#queue.length > 0) {
      const threads = this.#queue[0]?.isTakenBack ? most - this.#working : 1;
      const files = this.#queue
        .splice(0, Math.ceil(this.#queue.length / threads))
        .filter(({ isSettled }) => !isSettled);
      if (files.length === 0) continue;
      if (this.#stuck >= mostStuck) this.#refuse(files);
      else this.#run(files);
    }
  }

  #refuse(files: readonly WantedImageFile[]): void {
    for (const file of files) {
      file.reject(
        new MounterError(
          'ETIMEDOUT',
          `${file.job.image} is not looked at: ${this.#stuck} threads wait for file systems of other images that do not answer`,
        ),
      );
    }
  }

  #run(files: readonly WantedImageFile[]): void {
    let worker: Worker;
    try {
      worker = this.#idle.pop() ?? this.#newWorker();
    } catch (error) {
      for (const file of files) file.reject(error);
      return;
    }
    this.#working += 1;
    worker.ref();
    let isGivenUp = false;
    new ImageRun(worker, files, {
      takenBack: (others) => {
        this.#queue.push(...others);
        this.#dispatch();
      },
      givenUp: () => {
        isGivenUp = true;
        this.#working -= 1;
        this.#stuck += 1;
        worker.unref();
        this.#dispatch();
      },
      ended: (isUsable) => {
        if (isGivenUp) {
          this.#stuck -= 1;
          if (isUsable) void endWorker(worker);
          return;
        }
        this.#working -= 1;
        worker.unref();
        if (isUsable && this.#isDisposed) void endWorker(worker);
        else if (isUsable) this.#idle.push(worker);
        this.#dispatch();
      },
    });
  }

  #newWorker(): Worker {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const script = new URL(`./image-worker.${extension}`, import.meta.url);
    const worker = startWorker(script, undefined);
    worker.unref();
    // One that fails while it has no job is not taken for the next, which then tells of the failure.
    worker.on('error', () => {
      const position = this.#idle.indexOf(worker);
      if (position >= 0) this.#idle.splice(position, 1);
    });
    return worker;
  }

  /** Ends the threads that have nothing to do; the others end when they have done what they are at. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await Promise.all(this.#idle.splice(0).map(endWorker));
  }
}
