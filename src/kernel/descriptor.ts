import { closeSync, openSync } from 'node:fs';

/** An owned file descriptor; it is closed when it, and all that share it, are disposed of. */
export class Descriptor implements Disposable {
  #number: number | undefined;
  #owners = { count: 1 };

  constructor(number: number) {
    this.#number = number;
  }

  /** open(2) by a path that is trusted, O_CLOEXEC as always in Node.js. */
  static open(path: string, flags: number, mode?: number): Descriptor {
    return new Descriptor(openSync(path, flags, mode));
  }

  get number(): number {
    if (this.#number === undefined) throw new TypeError('the descriptor is closed');
    return this.#number;
  }

  /** What leads to the open file, however it is named now: proc_pid_fd(5). */
  get path(): string {
    return descriptorPath(this.number);
  }

  /** A name in the directory that is open. */
  entry(name: string): string {
    return `${this.path}/${name}`;
  }

  /** Another owner of the same number. */
  share(): Descriptor {
    const other = new Descriptor(this.number);
    other.#owners = this.#owners;
    this.#owners.count += 1;
    return other;
  }

  /** Gives the descriptor away; nothing is closed here any more. One that is shared stays everybody's. */
  take(): number {
    const number = this.number;
    if (this.#owners.count > 1) throw new TypeError('the descriptor has other owners');
    this.#number = undefined;
    return number;
  }

  [Symbol.dispose](): void {
    const number = this.#number;
    if (number === undefined) return;
    // The kernel lets go of it also when close(2) fails; by the next time it may be another's.
    this.#number = undefined;
    this.#owners.count -= 1;
    if (this.#owners.count === 0) closeSync(number);
  }
}

export function descriptorPath(number: number): string {
  return `/proc/self/fd/${number}`;
}
