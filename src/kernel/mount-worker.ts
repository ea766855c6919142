import { closeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { Descriptor, descriptorPath } from './descriptor.ts';
import { bindMount, detachMount, mountSetattr, moveMount, openTree, remountBind } from './mount.ts';
import type { MountJob, MountJobResult, MountNamespace } from './mount-thread.ts';
import { enterMountNamespace, unshareFileSystemState } from './namespace.ts';
import { O_PATH } from './open-flags.ts';
import { SyscallError } from './syscall-error.ts';
import { unlinkat } from './unlinkat.ts';

/** The body of the thread of MountThread. @returns the descriptor that the job made, or 0 */
function work(job: MountJob): number {
  if (job.kind === 'transfer') return transfer(job);
  enterMountNamespace(job.namespace.fd, job.namespace.path);
  switch (job.kind) {
    case 'bind':
      bindByStage(job);
      return 0;
    case 'detach':
      detachMount(job.target, job.path);
      return 0;
    case 'unlink':
      unlinkat(job.directory, job.name, job);
      return 0;
  }
}

function transfer({ from, source, attributes, to, target }: MountJob & { kind: 'transfer' }) {
  enterMountNamespace(from.fd, from.path);
  using mount = openTree(source.fd, source.path);
  mountSetattr(mount.number, attributes, source.path);
  enterMountNamespace(to.fd, to.path);
  moveMount(mount.number, target.fd, target.path);
  return mount.take();
}

/**
 * A bind mount gets its attributes by the path of the mount, which must not be one that a tenant can change: so
 * at a place of our own, from where a second bind mount takes the attributes along.
 */
function bindByStage({ source, stage, target, attributes }: MountJob & { kind: 'bind' }): void {
  bindMount(descriptorPath(source), stage);
  try {
    remountBind(stage, attributes);
    bindMount(stage, descriptorPath(target));
  } finally {
    using staged = Descriptor.open(stage, O_PATH);
    detachMount(staged.number, stage);
  }
}

/** @returns the descriptor that the job made, or 0 */
function workAndComeHome(job: MountJob): number {
  let made = 0;
  try {
    made = work(job);
    return made;
  } finally {
    comeHome(made);
  }
}

/**
 * A thread that stayed in a container's namespace would keep the container's file systems busy, and do the next
 * job's work in the wrong place: it ends, and MountThread starts another.
 */
function comeHome(made: number): void {
  try {
    enterMountNamespace(home.fd, home.path);
  } catch (cause) {
    if (made > 0) closeSync(made);
    throw new Error(`it cannot come back to its own mount namespace: ${String(cause)}`, { cause });
  }
}

const home = workerData as MountNamespace;

unshareFileSystemState();
parentPort?.on('message', ({ id, job }: { id: number; job: MountJob }) => {
  let result: MountJobResult;
  try {
    result = { id, descriptor: workAndComeHome(job) };
  } catch (error) {
    if (!(error instanceof SyscallError)) throw error;
    const { errno, syscall, path } = error;
    const about = path === undefined ? {} : { path };
    result = { id, descriptor: 0, error: { errno: -errno, syscall, ...about } };
  }
  parentPort?.postMessage(result);
});
