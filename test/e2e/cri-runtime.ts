import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PodDirectories } from '../../scripts/demo/node-directories.ts';
import type { CriClient } from './cri-client.ts';
import type { Host } from './host.ts';
import type { PodContainer } from './pod.ts';
import type { ContainerEnd, Runtime, Sandbox } from './runtime.ts';

const user = { run_as_user: { value: 107 }, run_as_group: { value: 107 } };
/** The pod's network is the node's, which needs no CNI plugin; the rest is the kubelet's default. */
const namespace_options = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' };
const seccomp = { profile_type: 'RuntimeDefault' };

/** The kubelet's count of a pod's sandboxes, one after the other; it goes on when containerd starts again. */
let attempts = 0;

/** containerd's CRI plugin, asked for what the kubelet would ask. */
export class CriRuntime implements Runtime {
  readonly #host: Host;
  readonly #client: CriClient;

  constructor(host: Host, client: CriClient) {
    this.#host = host;
    this.#client = client;
  }

  async sandbox(pod: PodDirectories): Promise<Sandbox> {
    const log_directory = `/var/lib/logs/${pod.uid}`;
    mkdirSync(this.#host.outside(log_directory), { recursive: true });
    const config = {
      metadata: { name: 'pod', uid: pod.uid, namespace: 'default', attempt: attempts++ },
      log_directory,
      linux: {
        cgroup_parent: `/kubepods/burstable/pod${pod.uid}`,
        security_context: { namespace_options, run_as_user: { value: 0 }, seccomp },
      },
    };
    const { pod_sandbox_id } = await this.#client.call('RunPodSandbox', { config });
    return new CriSandbox(this.#host, this.#client, pod, String(pod_sandbox_id), config);
  }
}

class CriSandbox implements Sandbox {
  readonly #host: Host;
  readonly #client: CriClient;
  readonly #pod: PodDirectories;
  readonly #id: string;
  readonly #config: { readonly log_directory: string };
  readonly #logs = new Map<string, string>();

  constructor(
    host: Host,
    client: CriClient,
    pod: PodDirectories,
    id: string,
    config: { readonly log_directory: string },
  ) {
    this.#host = host;
    this.#client = client;
    this.#pod = pod;
    this.#id = id;
    this.#config = config;
  }

  async start(container: PodContainer, attempt = 0): Promise<string> {
    const { name, image, command, args = [], volumeMounts = [], limits } = container;
    const log_path = `${name}-${attempt}.log`;
    const { container_id } = await this.#client.call('CreateContainer', {
      pod_sandbox_id: this.#id,
      sandbox_config: this.#config,
      config: {
        metadata: { name, attempt },
        image: { image },
        command,
        args,
        log_path,
        mounts: volumeMounts.map((mount) => ({
          container_path: mount.mountPath,
          host_path: this.#host.inside(this.#pod.emptyDir(mount.name)),
          propagation: mount.mountPropagation
            ? 'PROPAGATION_HOST_TO_CONTAINER'
            : 'PROPAGATION_PRIVATE',
        })),
        linux: {
          resources: {
            cpu_period: 100_000,
            cpu_quota: limits.cpu * 100,
            memory_limit_in_bytes: limits.memory,
            oom_score_adj: 999,
          },
          security_context: {
            namespace_options,
            ...user,
            capabilities: { drop_capabilities: ['ALL'] },
            readonly_rootfs: true,
            no_new_privs: true,
            seccomp,
          },
        },
      },
    });
    const id = String(container_id);
    this.#logs.set(id, log_path);
    await this.#client.call('StartContainer', { container_id });
    return id;
  }

  async ended(id: string): Promise<ContainerEnd> {
    for (const deadline = performance.now() + 30_000; ; await sleep(20)) {
      const { status } = (await this.#client.call('ContainerStatus', { container_id: id })) as {
        status: { state: string; exit_code: number; reason: string };
      };
      if (status.state === 'CONTAINER_EXITED') {
        return { exitCode: status.exit_code, reason: status.reason, log: this.#log(id) };
      }
      if (performance.now() > deadline) throw new Error(`container ${id} does not end`);
    }
  }

  async remove(id: string): Promise<void> {
    await this.#client.call('RemoveContainer', { container_id: id });
    this.#logs.delete(id);
  }

  async stop(): Promise<void> {
    // The kubelet's way: the pod's grace period is for its containers.
    const ids = [...this.#logs.keys()];
    const stop = (container_id: string) =>
      this.#client.call('StopContainer', { container_id, timeout: 30 });
    await Promise.all(ids.map(stop));
    await this.#client.call('StopPodSandbox', { pod_sandbox_id: this.#id });
    await this.#client.call('RemovePodSandbox', { pod_sandbox_id: this.#id });
  }

  #log(id: string): string {
    const path = join(this.#config.log_directory, this.#logs.get(id) ?? '');
    return readFileSync(this.#host.outside(path), 'utf8');
  }
}
