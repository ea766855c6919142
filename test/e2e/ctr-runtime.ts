import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { PodDirectories } from '../../scripts/demo/node-directories.ts';
import type { Host } from './host.ts';
import type { PodContainer, VolumeMount } from './pod.ts';
import type { ContainerEnd, Runtime, Sandbox } from './runtime.ts';

/** What ctr gives a container where it is not told to drop it (containerd's oci package, defaultUnixCaps). */
const capabilities = [
  ...[
    'CHOWN',
    'DAC_OVERRIDE',
    'FSETID',
    'FOWNER',
    'MKNOD',
    'NET_RAW',
    'SETGID',
    'SETUID',
    'SETFCAP',
  ],
  ...['SETPCAP', 'NET_BIND_SERVICE', 'SYS_CHROOT', 'KILL', 'AUDIT_WRITE'],
].map((name) => `CAP_${name}`);

/** containerd by its own client, without the CRI plugin. The user, 107, is that of the images. */
export class CtrRuntime implements Runtime {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  async sandbox(pod: PodDirectories): Promise<Sandbox> {
    return new CtrSandbox(this.#host, pod);
  }
}

interface Started {
  readonly ctr: ChildProcess;
  readonly exit: Promise<unknown[]>;
  log: string;
}

class CtrSandbox implements Sandbox {
  readonly #host: Host;
  readonly #pod: PodDirectories;
  readonly #started = new Map<string, Started>();

  constructor(host: Host, pod: PodDirectories) {
    this.#host = host;
    this.#pod = pod;
  }

  async start(container: PodContainer, attempt = 0): Promise<string> {
    const { name, image, command, args = [], volumeMounts = [], limits } = container;
    const id = `${this.#pod.uid.slice(0, 8)}-${name}-${attempt}`;
    const ctr = this.#host.start(
      ...(['ctr', '--namespace', 'k8s.io', 'run', '--rm', '--read-only', '--seccomp'] as const),
      ...capabilities.flatMap((capability) => ['--cap-drop', capability]),
      ...['--memory-limit', String(limits.memory)],
      ...['--cpu-period', '100000', '--cpu-quota', String(limits.cpu * 100)],
      ...['--cgroup', `/kubepods/burstable/pod${this.#pod.uid}/${id}`],
      ...volumeMounts.flatMap((mount) => ['--mount', this.#mount(mount)]),
      ...[image, id, ...command, ...args],
    );
    const started: Started = { ctr, exit: once(ctr, 'close'), log: '' };
    for (const stream of [ctr.stdout, ctr.stderr]) {
      stream?.on('data', (chunk) => {
        started.log += chunk;
      });
    }
    this.#started.set(id, started);
    return id;
  }

  async ended(id: string): Promise<ContainerEnd> {
    const { exit, log } = this.#of(id);
    const [code] = await exit;
    return {
      exitCode: Number(code),
      reason: `ctr ended with ${code}`,
      log: log || this.#of(id).log,
    };
  }

  /** `ctr run --rm` has done it. */
  async remove(id: string): Promise<void> {
    await this.#of(id).exit;
  }

  async stop(): Promise<void> {
    for (const [id, { ctr, exit }] of this.#started) {
      if (ctr.exitCode === null)
        this.#host.run('ctr', '--namespace', 'k8s.io', 'task', 'kill', '-s', 'SIGTERM', id);
      await exit;
    }
  }

  #of(id: string): Started {
    const started = this.#started.get(id);
    if (started === undefined) throw new Error(`no container ${id} was started`);
    return started;
  }

  #mount({ name, mountPath, mountPropagation }: VolumeMount): string {
    const source = this.#host.inside(this.#pod.emptyDir(name));
    const propagation = mountPropagation === undefined ? 'rprivate' : 'rslave';
    return `type=bind,src=${source},dst=${mountPath},options=rbind:rw:${propagation}`;
  }
}
