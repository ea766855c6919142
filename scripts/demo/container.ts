import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';

/** A bind mount of a container, as `mounts[]` of the OCI runtime specification. */
export interface ContainerMount {
  readonly source: string;
  /** Absolute path inside the container. */
  readonly destination: string;
}

/** What a container runtime is told; the fields of a pod's container that matter here. */
export interface ContainerOptions {
  /** The image's root: it is the lower layer of an overlay and is not written to. */
  readonly image: string;
  /** A directory for the upper layer. */
  readonly scratch: string;
  readonly argv: readonly string[];
  readonly mounts?: readonly ContainerMount[];
  /** Words before the command, for instance to put it into a cgroup. */
  readonly prefix?: readonly string[];
  /** Mounts that are made on the host later are seen in the container too (`mountPropagation: HostToContainer`). */
  readonly hostToContainer?: boolean;
  /** uid 0 in place of QEMU's, where the host's uid is meant. */
  readonly asRoot?: boolean;
}

/** uid and gid of `qemu` in KubeVirt's pods. */
export const qemu = 107;

/** Whether this process may do as the container runtime does; else user namespaces serve, with one uid only. */
export const isRoot = process.getuid?.() === 0;

/**
 * The steps of a container runtime, by mount(8) and chroot(1): own mount and pid namespaces, an overlay as the
 * root, the bind mounts, /proc, the root read-only, no new privileges, uid 107, and so no capability in effect.
 */
const runtime = `
  set -e
  image=$1 scratch=$2 user=$3; shift 3
  mount -t tmpfs -o mode=0755 scratch "$scratch"
  mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
  mount -t overlay -o "lowerdir=$image,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$scratch/root"
  mkdir -p "$scratch/root/proc"
  mount -t proc proc "$scratch/root/proc"
  while [ "$1" != -- ]; do
    if [ -e "$scratch/root$2" ]; then :
    elif [ -d "$1" ]; then mkdir -p "$scratch/root$2"
    else mkdir -p "$scratch/root\${2%/*}"; : > "$scratch/root$2"; fi
    mount --bind "$1" "$scratch/root$2"
    shift 2
  done
  shift
  mount -o remount,bind,ro "$scratch/root"
  umask 0022
  exec setpriv --no-new-privs chroot $user "$scratch/root" "$@"
`;

/** A process in a root file system and namespaces of its own, started as a container runtime would. */
export class Container implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #scratch: string;
  readonly exit: Promise<number>;
  stderr = '';
  stdout = '';

  constructor(options: ContainerOptions) {
    const { image, scratch, argv, mounts = [], prefix = [] } = options;
    mkdirSync(scratch, { recursive: true });
    this.#scratch = scratch;
    const user = isRoot && !options.asRoot ? `--userspec=${qemu}:${qemu}` : '';
    const binds = mounts.flatMap(({ source, destination }) => [source, destination]);
    const namespaces = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL'];
    if (!isRoot) namespaces.push('--user', '--map-root-user');
    if (options.hostToContainer) namespaces.push('--propagation', 'slave');
    const words = [
      ...prefix,
      'unshare',
      ...namespaces,
      ...['sh', '-c', runtime, 'container', image, scratch, user, ...binds, '--', ...argv],
    ];
    const [command = 'unshare', ...rest] = words;
    this.#process = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' });
    this.#process.stdout?.on('data', (chunk) => {
      this.stdout += chunk;
    });
    this.#process.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
    });
    this.exit = once(this.#process, 'close').then(([code]) => Number(code ?? 128));
    this.exit.catch(() => {});
  }

  get ended(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Pid of the container's first process as this pid namespace sees it, once it is there. */
  get pid(): number | undefined {
    const { pid } = this.#process;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? undefined : Number(children.split(' ')[0]);
  }

  /** A signal to the container's first process, as the runtime sends it. */
  kill(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) process.kill(this.pid, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A change of credentials has cleared what --kill-child set (PR_SET_PDEATHSIG), so the container is ended first.
    if (!this.ended) this.kill('SIGKILL');
    this.#process.kill('SIGKILL');
    await this.exit;
    rmSync(this.#scratch, { recursive: true, force: true });
  }
}
