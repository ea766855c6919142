import { closeSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { Descriptor } from '../kernel/descriptor.ts';
import { workerError } from '../kernel/start-worker.ts';
import type { ImageJob, OpenedImageFile } from './image-job.ts';
import { MounterError } from './mounter-error.ts';
import type { ErrorParts } from './thread-error.ts';
import { errorOf } from './thread-error.ts';

/** What a thread is given: it does one job after another, as long as there is one at the place that `next` has. */
export interface ImageJobs {
  readonly jobs: readonly ImageJob[];
  readonly next: Int32Array;
}

export type ImageJobResult =
  | (Omit<OpenedImageFile, 'file'> & { readonly file: number })
  | { readonly error: ErrorParts };

/** Milliseconds after which a thread is taken to wait for a file system, and what it has not come to is another's. */
const slow = 20;

interface Answer {
  readonly resolve: (opened: OpenedImageFile) => void;
  readonly reject: (error: unknown) => void;
}

/** Milliseconds that a new thread may take until it begins, on a node that is out of CPU. */
const loading = 30_000;

/** A file that somebody waits for. Two threads can open it; the second answer is not needed. */
export class WantedImageFile {
  readonly job: ImageJob;
  readonly timeout: number;
  readonly #root: Descriptor;
  readonly #answer: Answer;
  #isSettled = false;
  /** Whether a thread was too slow to come to it. */
  isTakenBack = false;

  /**
   * @param root of the image; it is owned from here on
   * @param timeout milliseconds
   */
  constructor(
    { root, ...job }: Omit<ImageJob, 'root'> & { readonly root: Descriptor },
    timeout: number,
    answer: Answer,
  ) {
    this.job = { ...job, root: root.number };
    this.timeout = timeout;
    this.#root = root;
    this.#answer = answer;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The root, for as long as a thread may use it. */
  shareRoot(): Descriptor {
    return this.#root.share();
  }

  answer(result: ImageJobResult): void {
    if ('error' in result) this.reject(errorOf(result.error));
    else if (this.#settle()) this.#answer.resolve({ ...result, file: new Descriptor(result.file) });
    else closeSync(result.file);
  }

  reject(error: unknown): void {
    if (this.#settle()) this.#answer.reject(error);
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#root[Symbol.dispose]();
    return true;
  }
}

/** What is done about a run. */
export interface ImageRunEvents {
  /** The thread is slow: these are for another one. */
  takenBack(files: readonly WantedImageFile[]): void;
  /** The thread has not answered in time, and is not waited for. */
  givenUp(): void;
  /** The thread has done all that it had. @param isUsable whether it can go on */
  ended(isUsable: boolean): void;
}

/** Files that a thread opens, one after another, and the time that this takes. */
export class ImageRun {
  readonly #files: readonly WantedImageFile[];
  readonly #events: ImageRunEvents;
  readonly #next = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #start = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(worker: Worker, files: readonly WantedImageFile[], events: ImageRunEvents) {
    this.#files = files;
    this.#events = events;
    const roots = files.map((file) => file.shareRoot());
    const end = (isUsable: boolean) => {
      clearTimeout(this.#timer);
      worker.off('message', answered);
      worker.off('error', failed);
      for (const root of roots) root[Symbol.dispose]();
      events.ended(isUsable);
    };
    const answered = (results: readonly ImageJobResult[]) => {
      results.forEach((result, index) => {
        files[index]?.answer(result);
      });
      end(true);
    };
    const failed = (error: unknown) => {
      for (const file of files) file.reject(workerError(error));
      end(false);
    };
    worker.on('message', answered);
    worker.on('error', failed);
    worker.postMessage({ jobs: files.map(({ job }) => job), next: this.#next } satisfies ImageJobs);
    this.#timer = setTimeout(() => this.#look(), slow);
  }

  /** Leaves the thread with the file that it is at. */
  #look(): void {
    if (Atomics.load(this.#next, 0) === 0) {
      this.#awaitBegin();
      return;
    }
    const begun = Math.min(Atomics.exchange(this.#next, 0, this.#files.length), this.#files.length);
    const current = this.#files[begun - 1];
    const others = this.#files.filter((file) => file !== current && !file.isSettled);
    for (const file of others) file.isTakenBack = true;
    if (current) {
      const { timeout, job } = current;
      const error = new MounterError(
        'ETIMEDOUT',
        `the file system of ${job.image} has not answered for ${timeout} ms`,
      );
      this.#timer = setTimeout(() => this.#giveUp([current], error), Math.max(timeout - slow, 0));
    }
    if (others.length > 0) this.#events.takenBack(others);
  }

  /** A thread that has just been started loads what it needs; that is not the file systems' time. */
  #awaitBegin(): void {
    if (this.#left(loading) > 0) {
      this.#timer = setTimeout(() => this.#look(), slow);
      return;
    }
    // Nor does it begin later.
    Atomics.store(this.#next, 0, this.#files.length);
    const [first] = this.#files;
    const error = new MounterError(
      'ETIMEDOUT',
      `the thread that opens ${first?.job.image} has not begun after ${loading} ms`,
    );
    this.#giveUp(this.#files, error);
  }

  #giveUp(files: readonly WantedImageFile[], error: MounterError): void {
    for (const file of files) file.reject(error);
    this.#events.givenUp();
  }

  /** Milliseconds. */
  #left(timeout: number): number {
    return Math.max(this.#start + timeout - performance.now(), 0);
  }
}
