import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

const v1 = '/sys/fs/cgroup/pids';
const v2 = '/sys/fs/cgroup';

/** A cgroup of the test's own with a limit of processes and threads (pids controller of either version). */
export class PidsCgroup {
  readonly #directory: string;

  constructor(t: Test) {
    const isV1 = existsSync(v1);
    this.#directory = join(isV1 ? v1 : v2, `container-disk-test-${process.pid}-${Date.now()}`);
    if (!isV1) writeFileSync(join(v2, 'cgroup.subtree_control'), '+pids');
    mkdirSync(this.#directory);
    t.teardown(() => this.#remove());
  }

  /** Words that put a command into the cgroup, with a limit. */
  command(limit: number): string[] {
    writeFileSync(join(this.#directory, 'pids.max'), String(limit));
    return ['sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', this.#directory];
  }

  /** A cgroup is busy until the last process that was in it is reaped. */
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
