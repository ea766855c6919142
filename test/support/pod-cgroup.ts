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
import type { Test } from 'tap';

/** Where the hierarchies are: hybrid machines have cgroup v2 beside the controllers of v1. */
const roots = {
  v1: '/sys/fs/cgroup/devices',
  v2: existsSync('/sys/fs/cgroup/unified') ? '/sys/fs/cgroup/unified' : '/sys/fs/cgroup',
};

export const hasV1Devices = existsSync(join(roots.v1, 'devices.list'));

/** The cgroup of a pod's container, as the kubelet's cgroupfs driver makes it. */
export class PodCgroup {
  readonly pod: string;
  readonly container: string;

  constructor(t: Test, version: 'v1' | 'v2', podUID: string, name = `pod${podUID}`) {
    const top = join(roots[version], `kubepods-test-${process.pid}`);
    this.pod = join(top, name);
    this.container = join(this.pod, 'compute');
    mkdirSync(this.container, { recursive: true });
    t.teardown(async () => {
      for (const directory of [this.container, this.pod, top]) await remove(directory);
    });
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

  /** Opens a device in the cgroup as QEMU's user; 'opened', or what the kernel says. */
  open(device: string): string {
    const words = [
      ...this.command,
      'setpriv',
      '--reuid=107',
      '--regid=107',
      '--clear-groups',
      'dd',
      `if=${device}`,
      'of=/dev/null',
      'bs=512',
      'count=1',
      'status=none',
    ];
    const [command = '', ...rest] = words;
    const { status, stderr } = spawnSync(command, rest, { encoding: 'utf8' });
    return status === 0 ? 'opened' : (/: ([^:]+)$/.exec(stderr.trim())?.[1] ?? stderr);
  }
}

/** Processes that were killed stay in a cgroup until they are reaped. */
async function remove(directory: string): Promise<void> {
  for (let attempt = 0; existsSync(directory); attempt += 1) {
    try {
      if (readdirSync(directory, { withFileTypes: true }).some((entry) => entry.isDirectory()))
        return;
      rmdirSync(directory);
    } catch (error) {
      if (attempt === 200) throw error;
      await sleep(10);
    }
  }
}
