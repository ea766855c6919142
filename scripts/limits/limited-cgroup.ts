import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = '/sys/fs/cgroup';
const isV1 = existsSync(join(root, 'memory'));
const controllers = isV1 ? ['memory', 'cpu'] : ['.'];

/** Microseconds of the kubelet's period for CPU quotas (`--cpu-cfs-quota-period`, 100 ms). */
const period = 100_000;

export interface Limits {
  /** Bytes. */
  readonly memory: number;
  /** Thousandths of a core; undefined: no quota. */
  readonly cpu: number | undefined;
}

/** A cgroup with the limits that the kubelet sets for a container, of either version of cgroups. */
export class LimitedCgroup implements AsyncDisposable {
  readonly #directories: readonly string[];

  constructor({ memory, cpu }: Limits) {
    const name = `container-disk-limits-${process.pid}-${performance.now()}`;
    if (!isV1) writeFileSync(join(root, 'cgroup.subtree_control'), '+memory +cpu');
    this.#directories = controllers.map((controller) => join(root, controller, name));
    for (const directory of this.#directories) mkdirSync(directory);
    this.#write(isV1 ? 'memory.limit_in_bytes' : 'memory.max', String(memory));
    if (cpu === undefined) return;
    const quota = (cpu * period) / 1000;
    if (isV1) {
      this.#write('cpu.cfs_period_us', String(period));
      this.#write('cpu.cfs_quota_us', String(quota));
    } else {
      this.#write('cpu.max', `${quota} ${period}`);
    }
  }

  /** Words that put a command into the cgroup. */
  get command(): readonly string[] {
    const enter = this.#directories.map((directory) => `echo $$ > ${directory}/cgroup.procs`);
    return ['sh', '-c', `${enter.join('; ')}; exec "$@"`, 'sh'];
  }

  /** The most memory that was in use, in bytes; the page cache that was read for it is in there. */
  get peak(): number {
    return Number(this.#read(isV1 ? 'memory.max_usage_in_bytes' : 'memory.peak'));
  }

  #write(file: string, text: string): void {
    writeFileSync(this.#path(file), text);
  }

  #read(file: string): string {
    return readFileSync(this.#path(file), 'utf8');
  }

  #path(file: string): string {
    const controller = isV1 ? controllers.indexOf(file.split('.')[0] ?? '') : 0;
    return join(this.#directories[controller] ?? '', file);
  }

  /** A cgroup is busy until the last process that was killed in it is reaped. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const directory of this.#directories) {
      for (let attempt = 0; existsSync(directory); attempt += 1) {
        try {
          rmdirSync(directory);
        } catch (error) {
          if (attempt === 200) throw error;
          await sleep(10);
        }
      }
    }
  }
}
