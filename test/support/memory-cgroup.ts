import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

const v1 = '/sys/fs/cgroup/memory';
const v2 = '/sys/fs/cgroup';

/** A memory cgroup of the test's own; the kernel ends what uses more (cgroups(7), memory controller of either version). */
export class MemoryCgroup {
  readonly #directory: string;
  readonly #isV1 = existsSync(v1);

  constructor(t: Test, limit: number) {
    this.#directory = join(
      this.#isV1 ? v1 : v2,
      `container-disk-test-${process.pid}-${Date.now()}`,
    );
    if (!this.#isV1) writeFileSync(join(v2, 'cgroup.subtree_control'), '+memory');
    mkdirSync(this.#directory);
    t.teardown(() => this.#remove());
    this.#write(this.#isV1 ? 'memory.limit_in_bytes' : 'memory.max', String(limit));
  }

  /** Puts a command into the cgroup: the words before those of the command itself. */
  get command(): readonly string[] {
    const procs = join(this.#directory, 'cgroup.procs');
    return ['sh', '-c', `echo $$ > ${procs}; exec "$@"`, 'sh'];
  }

  /** How many processes the kernel has ended for want of memory. */
  get oomKills(): number {
    const text = this.#read(this.#isV1 ? 'memory.oom_control' : 'memory.events');
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1]);
  }

  /** Page faults that had to wait for a disk. */
  get majorFaults(): number {
    return Number(/^pgmajfault (\d+)$/m.exec(this.#read('memory.stat'))?.[1]);
  }

  /** The most that was in use at any time, in bytes, the page cache with it. */
  get peak(): number {
    return Number(this.#read(this.#isV1 ? 'memory.max_usage_in_bytes' : 'memory.peak'));
  }

  #read(file: string): string {
    return readFileSync(join(this.#directory, file), 'utf8');
  }

  #write(file: string, text: string): void {
    writeFileSync(join(this.#directory, file), text);
  }

  /** A cgroup is busy until the last process that was killed in it is reaped. */
  async #remove(): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        rmdirSync(this.#directory);
        return;
      } catch (error) {
        if (attempt === 100) throw error;
        await sleep(10);
      }
    }
  }
}
