import { closeSync, constants } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { Descriptor, descriptorPath } from './descriptor.ts';
import { bindMount, detachMount, mountSetattr, moveMount, openTree, remountBind } from './mount.ts';
import type { MountJob, MountJobResult } from './mount-thread.ts';
import { enterMountNamespace, unshareFileSystemState } from './namespace.ts';
import { SyscallError } from './syscall-error.ts';
import { unlinkat } from './unlinkat.ts';

/** The body of the thread of MountThread. */
function work(job: MountJob): number {
  switch (job.kind) {
    case 'clone': {
      using tree = openTree(job.source, job.path);
      mountSetattr(tree.number, job.attributes, job.path);
      return tree.take();
    }
    case 'attach':
      moveMount(job.mount, job.target, job.path);
      return 0;
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
    using staged = Descriptor.open(stage, constants.O_RDONLY);
    detachMount(staged.number, stage);
  }
}

const home = Descriptor.open('/proc/thread-self/ns/mnt', constants.O_RDONLY);

/** @returns the descriptor that the job made, or 0 */
function workInNamespace(job: MountJob): number {
  enterMountNamespace(job.namespace.fd, job.namespace.path);
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
    enterMountNamespace(home.number, '/proc/thread-self/ns/mnt');
  } catch (cause) {
    if (made > 0) closeSync(made);
    throw new Error(`it cannot come back to its own mount namespace: ${String(cause)}`, { cause });
  }
}

unshareFileSystemState();
parentPort?.on('message', ({ id, job }: { id: number; job: MountJob }) => {
  let result: MountJobResult;
  try {
    result = { id, descriptor: workInNamespace(job) };
  } catch (error) {
    if (!(error instanceof SyscallError)) throw error;
    const { errno, syscall, path } = error;
    const about = path === undefined ? {} : { path };
    result = { id, descriptor: 0, error: { errno: -errno, syscall, ...about } };
  }
  parentPort?.postMessage(result);
});
