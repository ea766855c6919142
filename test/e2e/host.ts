import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PodDirectories } from '../../scripts/demo/node-directories.ts';
import { removeCgroups } from './cgroups.ts';

const mounter = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

/** The host's first process: its mounts, and the reaping of orphans, which the loop does. */
const init = `
  set -e
  mount --bind "$1/lib" /var/lib
  mount --bind "$1/run" /run
  mount --make-shared /var/lib
  mount --make-shared /run
  while :; do sleep 3600 & wait $!; done
`;

/**
 * A host of the test's own: mount and pid namespaces with directories of its own at /var/lib and /run, so that
 * everything is at the path that it has on a node. It ends with its first process, and that with the test: the
 * kernel kills every process of the pid namespace and then drops the mounts, whatever state they were in.
 */
export class Host implements AsyncDisposable {
  readonly directory: string;
  #unshare: ChildProcess;
  #started: ChildProcess[] = [];
  readonly #pods: PodDirectories[] = [];

  constructor() {
    this.directory = mkdtempSync(join(realpathSync(tmpdir()), 'container-disk-e2e-'));
    chmodSync(this.directory, 0o755);
    for (const name of ['lib/kubelet', 'run'])
      mkdirSync(join(this.directory, name), { recursive: true });
    this.#unshare = this.#boot();
  }

  /** Waits for the host's mounts. */
  async ready(): Promise<void> {
    const deadline = performance.now() + 10_000;
    while (!this.#isReady()) {
      if (this.#unshare.exitCode !== null || performance.now() > deadline) {
        throw new Error('the namespaces of the host could not be made');
      }
      await sleep(5);
    }
  }

  /** The path outside of a path of the host below /var/lib or /run. */
  outside(path: string): string {
    return path.replace(/^\/(?:var\/)?(lib|run)(?=\/|$)/, `${this.directory}/$1`);
  }

  /** The other way round. */
  inside(path: string): string {
    return path
      .replace(`${this.directory}/lib`, '/var/lib')
      .replace(`${this.directory}/run`, '/run');
  }

  pod(): PodDirectories {
    const pod = new PodDirectories(this.outside('/var/lib/kubelet'), crypto.randomUUID());
    this.#pods.push(pod);
    return pod;
  }

  /** Runs a command on the host to its end. @throws where it does not exit with 0 */
  run(command: string, ...argv: readonly string[]): string {
    return execFileSync('nsenter', this.#words(command, argv), {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
  }

  /** Starts a command on the host that stays until it or the host is ended. */
  start(command: string, ...argv: readonly string[]): ChildProcess {
    const child = spawn('nsenter', this.#words(command, argv), {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#started.push(child);
    return child;
  }

  /** `container-disk-mounter`, with a node's own paths; its JSON where it printed any. */
  mounter(...argv: readonly string[]): MounterRun {
    const words = this.#words(process.execPath, [mounter, '-o', 'json', ...argv]);
    const { status, stdout, stderr } = spawnSync('nsenter', words, { encoding: 'utf8' });
    return {
      status,
      stderr,
      json: stdout.startsWith('[') || stdout.startsWith('{') ? JSON.parse(stdout) : undefined,
    };
  }

  /** Pid of the host's first process, here. */
  get pid(): number {
    const pid = this.#first();
    if (pid === undefined) throw new Error('the host has ended');
    return pid;
  }

  /** Mount points of the host below a path of it. */
  mounts(below: string): string[] {
    return readFileSync(`/proc/${this.pid}/mountinfo`, 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[4] ?? '')
      .filter((point) => point.startsWith(`${below}/`));
  }

  /** Power off and on: processes, mounts, cgroups and /run are gone, /var/lib is there. */
  async reboot(): Promise<void> {
    await this.#halt();
    rmSync(join(this.directory, 'run'), { recursive: true });
    mkdirSync(join(this.directory, 'run'));
    this.#unshare = this.#boot();
    await this.ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#halt();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #boot(): ChildProcess {
    return spawn(
      'setpriv',
      [
        ...['--pdeathsig', 'KILL', 'unshare', '--mount', '--pid', '--fork', '--mount-proc'],
        ...['--kill-child=SIGKILL', 'sh', '-c', init, 'host', this.directory],
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
  }

  /** The first process ends when the kernel has ended all others of its namespace, and with it the mounts go. */
  async #halt(): Promise<void> {
    const ends = [this.#unshare, ...this.#started].map(
      (child) =>
        new Promise<void>((resolve) => {
          if (child.exitCode !== null || child.signalCode !== null) resolve();
          else child.once('exit', () => resolve());
        }),
    );
    const first = this.#first();
    if (first === undefined) this.#unshare.kill('SIGKILL');
    else process.kill(first, 'SIGKILL');
    await Promise.all(ends);
    this.#started = [];
    await removeCgroups(this.#pods.map(({ uid }) => uid));
  }

  #first(): number | undefined {
    const { pid, exitCode, signalCode } = this.#unshare;
    if (exitCode !== null || signalCode !== null) return undefined;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? undefined : Number(children.split(' ')[0]);
  }

  #isReady(): boolean {
    try {
      return this.mounts('').some((point) => point === '/run') && this.#propagates('/run');
    } catch {
      return false;
    }
  }

  #propagates(point: string): boolean {
    return readFileSync(`/proc/${this.pid}/mountinfo`, 'utf8')
      .split('\n')
      .some(
        (line) =>
          line.split(' ')[4] === point && line.split(' ')[3] !== '/' && / shared:/.test(line),
      );
  }

  #words(command: string, argv: readonly string[]): string[] {
    return ['--target', String(this.pid), '--mount', '--pid', '--', command, ...argv];
  }
}

export interface MounterRun {
  readonly status: number | null;
  readonly stderr: string;
  readonly json: unknown;
}
