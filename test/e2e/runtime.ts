import type { PodDirectories } from '../../scripts/demo/node-directories.ts';
import type { PodContainer, PodTemplate } from './pod.ts';

/** What the kubelet asks of a container runtime. */
export interface Runtime {
  /** Makes what the containers of a pod share. */
  sandbox(pod: PodDirectories): Promise<Sandbox>;
}

export interface Sandbox {
  /** Starts a container, and answers with its id. Restarts have another `attempt`. */
  start(container: PodContainer, attempt?: number): Promise<string>;
  /** Waits for a container to end. */
  ended(id: string): Promise<ContainerEnd>;
  /** Removes what is left of a container that has ended. */
  remove(id: string): Promise<void>;
  /** Ends the containers and removes the sandbox. */
  stop(): Promise<void>;
}

export interface ContainerEnd {
  readonly exitCode: number;
  /** As the runtime has it: `OOMKilled` for instance. */
  readonly reason: string;
  /** Of the container's standard output and error. */
  readonly log: string;
}

/** A pod that runs: its directories, and its containers' ids by name. */
export interface RunningPod {
  readonly directories: PodDirectories;
  readonly sandbox: Sandbox;
  readonly ids: ReadonlyMap<string, string>;
}

/** Starts a pod as the kubelet does: the init containers one after the other, each to its end, then the others; after a restart of the node with another `attempt`. */
export async function startPod(
  runtime: Runtime,
  directories: PodDirectories,
  { initContainers, containers }: PodTemplate,
  attempt = 0,
): Promise<RunningPod> {
  const sandbox = await runtime.sandbox(directories);
  for (const container of initContainers) {
    const id = await sandbox.start(container, attempt);
    const { exitCode, reason, log } = await sandbox.ended(id);
    if (exitCode !== 0)
      throw new Error(`${container.name} ended with ${exitCode} (${reason}): ${log}`);
    await sandbox.remove(id);
  }
  const ids = new Map<string, string>();
  for (const container of containers)
    ids.set(container.name, await sandbox.start(container, attempt));
  return { directories, sandbox, ids };
}
