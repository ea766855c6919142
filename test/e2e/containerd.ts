import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from './host.ts';

/** The paths of containerd's own defaults; on the host of the test they are the test's own. */
export const socket = '/run/containerd/containerd.sock';
export const taskDirectory = '/run/containerd/io.containerd.runtime.v2.task/k8s.io';
const configuration = '/var/lib/containerd.toml';

/** The pause image of the CRI plugin: the program, holding a socket that nobody asks for. */
export const pauseImage = 'registry.example/pause:test';

/** A score below its own needs CAP_SYS_RESOURCE, which containers that run tests often lack. */
const toml = `
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  restrict_oom_score_adj = true
  stream_server_port = "0"
`;

/** containerd on a host of the test's own. */
export class Containerd {
  readonly #host: Host;
  #daemon: ChildProcess | undefined;
  #log = '';

  constructor(host: Host) {
    this.#host = host;
    mkdirSync(host.outside('/var/lib'), { recursive: true });
    writeFileSync(host.outside(configuration), toml);
  }

  async start(): Promise<void> {
    const daemon = this.#host.start('containerd', '--config', configuration);
    this.#daemon = daemon;
    daemon.stderr?.on('data', (chunk) => {
      this.#log += chunk;
    });
    for (const deadline = performance.now() + 30_000; ; await sleep(50)) {
      try {
        this.ctr('version');
        return;
      } catch (error) {
        if (daemon.exitCode !== null || performance.now() > deadline) {
          throw new Error(`containerd did not start: ${this.#log.slice(-2000)}`, { cause: error });
        }
      }
    }
  }

  /** `ctr`, in the namespace of the kubelet's containers. */
  ctr(...argv: readonly string[]): string {
    return this.#host.run('ctr', '--namespace', 'k8s.io', ...argv);
  }

  import(archive: string): void {
    this.ctr('images', 'import', archive);
  }

  get log(): string {
    return this.#log;
  }

  get isRunning(): boolean {
    return this.#daemon !== undefined && this.#daemon.exitCode === null;
  }
}
