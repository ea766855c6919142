import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where the hierarchies are mounted: hybrid machines have cgroup v2 beside the controllers of v1. */
const roots = {
  v1: '/sys/fs/cgroup/devices',
  v2: existsSync('/sys/fs/cgroup/unified') ? '/sys/fs/cgroup/unified' : '/sys/fs/cgroup',
};

export type CgroupVersion = keyof typeof roots;

/** Whether device cgroups of a version are there. */
export function hasDeviceCgroups(version: CgroupVersion): boolean {
  return existsSync(join(roots[version], version === 'v1' ? 'devices.list' : 'cgroup.procs'));
}

/** The cgroup of a pod's container, as the kubelet's cgroupfs driver makes it. */
export class PodCgroup implements AsyncDisposable {
  readonly pod: string;
  readonly container: string;
  readonly #top: string;

  constructor(version: CgroupVersion, podUID: string) {
    this.#top = join(roots[version], `kubepods-${process.pid}`);
    this.pod = join(this.#top, `pod${podUID}`);
    this.container = join(this.pod, 'compute');
    mkdirSync(this.container, { recursive: true });
  }

  /** Words that put a command into the cgroup. */
  get command(): string[] {
    return ['sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', this.container];
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.container, file), text);
  }

  read(file: string): string {
    return readFileSync(join(this.container, file), 'utf8');
  }

  /** Reads the first sector of a device in the cgroup as QEMU's user; 'opened', or what the kernel says. */
  open(device: string): string {
    const asQemu = ['setpriv', '--reuid=107', '--regid=107', '--clear-groups'];
    const dd = ['dd', `if=${device}`, 'of=/dev/null', 'bs=512', 'count=1', 'status=none'];
    const [command = '', ...rest] = [...this.command, ...asQemu, ...dd];
    const { status, stderr } = spawnSync(command, rest, { encoding: 'utf8' });
    return status === 0 ? 'opened' : (/: ([^:]+)$/.exec(stderr.trim())?.[1] ?? stderr);
  }

  /** Other pods of this process keep what they share. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const directory of [this.container, this.pod, this.#top]) await remove(directory);
  }
}

/** Processes that were killed stay in a cgroup until they are reaped. */
async function remove(directory: string): Promise<void> {
  for (let attempt = 0; existsSync(directory); attempt += 1) {
    try {
      const entries = readdirSync(directory, { withFileTypes: true });
      if (entries.some((entry) => entry.isDirectory())) return;
      rmdirSync(directory);
    } catch (error) {
      if (attempt === 200) throw error;
      await sleep(10);
    }
  }
}
