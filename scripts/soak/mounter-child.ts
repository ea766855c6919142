import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { MounterOptions } from '../../src/mounter/mounter.ts';
import type { Answer, Task } from './mounter-process.ts';

/** A process with the library, which can be killed at any moment. */
export class MounterChild implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  constructor(options: MounterOptions) {
    const script = join(import.meta.dirname, 'mounter-process.ts');
    this.#child = fork(script, [JSON.stringify(options)], { execArgv: ['--expose-gc'] });
    this.#exit = once(this.#child, 'exit');
  }

  /** @returns undefined where it was killed before it answered */
  async run(task: Task): Promise<Answer | undefined> {
    // What it is told after its death is lost.
    this.#child.send(task, () => {});
    const answer = once(this.#child, 'message').then(([message]) => message as Answer);
    return await Promise.race([answer, this.#exit.then(() => undefined)]);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.#exit;
  }
}
