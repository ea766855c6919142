import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { MounterOptions } from '../../../src/mounter/mounter.ts';

/** `again` mounts what is mounted already. In this order each finds what it needs. */
export const verbs = ['mount', 'again', 'list', 'unmount'] as const;

/** What the library is to do. */
export interface LibraryRequest {
  readonly verb: (typeof verbs)[number];
  readonly options: MounterOptions;
  readonly manifests: readonly object[];
  /** How many things are to be found done. */
  readonly expected: number;
}

/** Of the whole process, all of its threads, in milliseconds. */
export interface LibraryAnswer {
  readonly time: number;
  readonly cpu: number;
}

/** A process that has the library loaded, as an agent on a node would. */
export class LibraryProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor(prefix: readonly string[] = []) {
    const [execPath = process.execPath, ...execArgv] = [...prefix, process.execPath];
    const script = join(import.meta.dirname, 'library-child.ts');
    const own = prefix.length === 0 ? {} : { execPath, execArgv };
    this.#child = fork(script, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], ...own });
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`the process with the library ended with ${code}`);
    });
    this.#ended.catch(() => {});
  }

  async request(request: LibraryRequest): Promise<LibraryAnswer> {
    this.#child.send(request);
    const [answer] = await Promise.race([once(this.#child, 'message'), this.#ended]);
    if ('error' in answer) throw new Error(`${request.verb}: ${answer.error}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.disconnect();
    await this.#ended.catch(() => {});
  }
}
