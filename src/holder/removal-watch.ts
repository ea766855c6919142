import { type FSWatcher, watch } from 'node:fs';
import { basename, resolve } from 'node:path';
import { isSystemError, type SystemError } from './holder-error.ts';

/** stat(2) once a second is what is left where inotify is not to be had. */
const pollInterval = 1000;

/**
 * Calls `look` whenever one of `names` in `directory`, or the directory itself, may have gone from now on.
 *
 * By inotify(7), which does not wake an idle process. `fs.inotify.max_user_instances` is 128 for a user, and
 * all the sidecars of a node are one user, so it is normal that no instance is left: then by polling.
 */
export class RemovalWatch implements Disposable {
  readonly #look: () => void;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param polling is told why it polls, if it does */
  constructor(
    directory: string,
    names: ReadonlySet<string>,
    look: () => void,
    polling: (why: SystemError) => void,
  ) {
    this.#look = look;
    const poll = (error: unknown) => {
      if (!isSystemError(error)) throw error;
      polling(error);
      this.#poll();
    };
    const own = basename(resolve(directory));
    try {
      this.#watcher = watch(directory, (_event, name) => {
        if (name === null || names.has(name) || name === own) look();
      });
      this.#watcher.once('error', poll);
    } catch (error) {
      poll(error);
    }
  }

  #poll(): void {
    this.#watcher?.close();
    this.#timer ??= setInterval(this.#look, pollInterval);
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
    clearInterval(this.#timer);
  }
}
