import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { qemu } from '../../scripts/demo/container.ts';

/** A program of this directory, compiled so that it runs in an empty root file system. */
export function compile(directory: string, name: string): string {
  const program = join(directory, name);
  const source = join(import.meta.dirname, `${name}.cpp`);
  execFileSync('g++', ['-O2', '-static', '-Wall', '-pthread', '-o', program, source]);
  return program;
}

/** A program that works against the mounter until it is told to end, and then prints what it did. */
export class Attacker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #pid: () => number | undefined;
  stdout = '';

  constructor(t: Test, argv: readonly string[], cwd: string, isContained = false) {
    const [command = '', ...rest] = argv;
    this.#child = spawn(command, rest, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child.stdout?.on('data', (chunk) => {
      this.stdout += chunk;
    });
    this.#ended = once(this.#child, 'close');
    this.#pid = () => (isContained ? childOf(this.#child.pid) : this.#child.pid);
    t.teardown(async () => {
      if (this.isRunning) {
        const pid = this.#pid();
        if (pid !== undefined) process.kill(pid, 'SIGKILL');
        this.#child.kill('SIGKILL');
      }
      await this.#ended;
    });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** @returns the last line that it printed */
  async end(): Promise<string> {
    const pid = this.#pid();
    if (!this.isRunning || pid === undefined) throw new Error('an attacker has ended before');
    process.kill(pid, 'SIGTERM');
    await this.#ended;
    return this.stdout.trim().split('\n').at(-1) ?? '';
  }
}

function childOf(pid: number | undefined): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? undefined : Number(children);
}

/** Words that run a command as QEMU's user, in a mount namespace of its own, as a container's is. */
export const asTenant = [
  ...['unshare', '--mount', '--propagation', 'private'],
  ...['setpriv', `--reuid=${qemu}`, `--regid=${qemu}`, '--clear-groups', '--no-new-privs'],
];

/** As a container runtime does: a writable overlay, which the process pivots into (pivot_root(2)). */
const runtime = `
  directory=$1 disks=$2 program=$3; shift 3
  layers="lowerdir=$directory/lower,upperdir=$directory/upper,workdir=$directory/work"
  mount -t overlay -o "$layers" overlay "$directory/merged"
  cd "$directory/merged"
  mkdir -p proc disks usr/bin old
  touch usr/bin/hostile-image
  mount -t proc proc proc
  mount --bind "$disks" disks
  mount --bind "$program" usr/bin/hostile-image
  pivot_root . old
  exec /usr/bin/hostile-image "$@"
`;

/** A container whose image is the tenant's to change, also while it runs. */
export async function hostileImage(
  t: Test,
  directory: string,
  { program, emptyDir, socket, mode, seed, canary }: HostileImage,
): Promise<Attacker> {
  for (const part of ['lower/disk', 'upper', 'work', 'merged']) {
    mkdirSync(join(directory, part), { recursive: true });
  }
  writeFileSync(join(directory, 'lower/disk/disk.img'), 'disk'.repeat(1024));
  execFileSync('chown', ['-R', `${qemu}:${qemu}`, directory]);
  const attacker = new Attacker(
    t,
    [
      ...['unshare', '--mount', '--pid', '--fork', '--propagation', 'private'],
      ...['sh', '-ec', runtime, 'sh', directory, emptyDir, program],
      ...[mode, String(seed), canary, `/disks/${socket}`],
    ],
    '/',
    true,
  );
  while (!existsSync(join(emptyDir, socket))) {
    if (!attacker.isRunning) throw new Error('a hostile image has ended');
    await sleep(5);
  }
  return attacker;
}

interface HostileImage {
  readonly program: string;
  readonly emptyDir: string;
  /** Its name in the emptyDir. */
  readonly socket: string;
  readonly mode: 'files' | 'mounts';
  readonly seed: number;
  /** Path of a file of the host. */
  readonly canary: string;
}
