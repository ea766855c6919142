import { constants } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { Descriptor } from './descriptor.ts';
import type { MountAttributes } from './mount.ts';
import { endWorker, startWorker, ThreadStartError, workerError } from './start-worker.ts';
import { SyscallError } from './syscall-error.ts';

/** Something that is open, and what it is called in messages. */
export interface OpenPath {
  readonly fd: number;
  readonly path: string;
}

export type MountNamespace = OpenPath;

/** What the thread does; every number is a descriptor, which the threads of a process share. */
export type MountJob =
  | {
      readonly kind: 'transfer';
      /** The namespace of the source. */
      readonly from: MountNamespace;
      readonly source: OpenPath;
      readonly attributes: MountAttributes;
      /** The namespace of the target. */
      readonly to: MountNamespace;
      readonly target: OpenPath;
    }
  | {
      readonly kind: 'bind';
      readonly namespace: MountNamespace;
      readonly source: number;
      /** An empty file or directory of our own, where nobody else can write. */
      readonly stage: string;
      readonly target: number;
      readonly attributes: MountAttributes;
      readonly path: string;
    }
  | {
      readonly kind: 'detach';
      readonly namespace: MountNamespace;
      readonly target: number;
      readonly path: string;
    }
  | {
      readonly kind: 'unlink';
      readonly namespace: MountNamespace;
      readonly directory: number;
      readonly name: string;
      readonly isDirectory: boolean;
      readonly path: string;
    };

export interface MountJobResult {
  /** The descriptor that the job made, or 0. */
  readonly descriptor: number;
  readonly error?: { readonly errno: number; readonly syscall: string; readonly path?: string };
}

/** Whoever waits for the result of a job. */
interface Waiting {
  readonly resolve: (descriptor: number) => void;
  readonly reject: (error: Error) => void;
}

/** The thread that changes mount namespaces has ended. */
export class MountThreadError extends Error {
  override readonly name = 'MountThreadError';
  readonly code = 'ETHREAD';
}

/**
 * A thread that enters the mount namespaces of others, which no thread that runs other code may do: setns(2)
 * changes where every relative path leads.
 *
 * It is started with the first job. Jobs of one turn of the event loop go to it together, as waking a thread costs
 * more than most of them. It keeps no process from ending.
 */
export class MountThread implements AsyncDisposable {
  #worker: Worker | undefined;
  /** Jobs of this turn, and who waits for them. */
  #jobs: MountJob[] = [];
  #callers: Waiting[] = [];
  /** Those of earlier turns, in the order in which the thread answers. */
  readonly #sent: (readonly Waiting[])[] = [];

  /** Starts the thread before there is a job, so that the first one need not wait for it. */
  start(): void {
    this.#start();
  }

  /**
   * Mounts an open file or directory of one namespace, with attributes, on an open one of another: open_tree(2),
   * mount_setattr(2), move_mount(2), in one go.
   *
   * @returns the mount
   * @throws SyscallError, whose `syscall` tells how far it went; ENOSYS before Linux 5.12
   */
  async transfer(job: Omit<MountJob & { kind: 'transfer' }, 'kind'>): Promise<Descriptor> {
    return new Descriptor(await this.#run({ ...job, kind: 'transfer' }));
  }

  /** mount(2) with MS_BIND, and then its attributes; for kernels without open_tree(2). */
  async bind(
    namespace: MountNamespace,
    source: number,
    stage: string,
    target: number,
    attributes: MountAttributes,
    path: string,
  ): Promise<void> {
    await this.#run({ kind: 'bind', namespace, source, stage, target, attributes, path });
  }

  /** Takes the mount away whose root is open. */
  async detach(namespace: MountNamespace, target: number, path: string): Promise<void> {
    await this.#run({ kind: 'detach', namespace, target, path });
  }

  /**
   * Removes a name. It is EBUSY where something is mounted on it in the namespace of the thread that does it, though
   * it be a copy of what was taken away elsewhere.
   */
  async unlink(
    namespace: MountNamespace,
    directory: number,
    name: string,
    { isDirectory, path }: { readonly isDirectory: boolean; readonly path: string },
  ): Promise<void> {
    await this.#run({ kind: 'unlink', namespace, directory, name, isDirectory, path });
  }

  #run(job: MountJob): Promise<number> {
    return new Promise((resolve, reject) => {
      // After the promises that are settled by now: those who waited for one thing go on to the next together.
      if (this.#jobs.length === 0) queueMicrotask(() => process.nextTick(() => this.#send()));
      this.#jobs.push(job);
      this.#callers.push({ resolve, reject });
    });
  }

  #send(): void {
    const [jobs, callers] = [this.#jobs, this.#callers];
    [this.#jobs, this.#callers] = [[], []];
    try {
      const worker = this.#start();
      worker.ref();
      worker.postMessage(jobs);
      this.#sent.push(callers);
    } catch (error) {
      for (const { reject } of callers) reject(error as Error);
    }
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const path = '/proc/thread-self/ns/mnt';
    const home = Descriptor.open(path, constants.O_RDONLY);
    let worker: Worker;
    try {
      const script = new URL(`./mount-worker.${extension}`, import.meta.url);
      worker = startWorker<MountNamespace>(script, { fd: home.number, path });
    } catch (error) {
      home[Symbol.dispose]();
      throw error;
    }
    worker.on('message', (results: readonly MountJobResult[]) => {
      const callers = this.#sent.shift() ?? [];
      if (this.#sent.length === 0) worker.unref();
      results.forEach(({ descriptor, error }, index) => {
        if (error === undefined) callers[index]?.resolve(descriptor);
        else callers[index]?.reject(new SyscallError(error.errno, error.syscall, error.path));
      });
    });
    const ended = (why: string, cause?: Error) => {
      // It fails first and exits later; by then the jobs that wait are another's.
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      const error =
        cause instanceof ThreadStartError
          ? cause
          : new MountThreadError(`the thread for mounts has ended: ${why}`, { cause });
      for (const { reject } of this.#sent.splice(0).flat()) reject(error);
      home[Symbol.dispose]();
    };
    worker.on('error', (cause) => ended(String(cause), workerError(cause)));
    worker.on('exit', (code) => ended(`exit code ${code}`));
    // After the listeners: one of messages keeps the process from ending.
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#worker) await endWorker(this.#worker);
  }
}
