import { closeSync } from 'node:fs';
import { Descriptor, descriptorPath } from './descriptor.ts';
import { bindMount, detachMount, mountSetattr, moveMount, openTree, remountBind } from './mount.ts';
import type { MountJob, MountJobResult, MountNamespace } from './mount-thread.ts';
import { enterMountNamespace, unshareFileSystemState } from './namespace.ts';
import { O_PATH } from './open-flags.ts';
import { serveJobs, startData } from './serve-jobs.ts';
import { SyscallError } from './syscall-error.ts';
import { unlinkat } from './unlinkat.ts';

type Transfer = MountJob & { kind: 'transfer' };

const home = startData<MountNamespace>();

/** Descriptor of the mount namespace that this thread is in. */
let current = home.fd;

/**
 * The body of the thread of MountThread. Everything is taken out of the containers before the first of it is attached,
 * so that one namespace after another is entered and not two for each job.
 */
function work(jobs: readonly MountJob[]): MountJobResult[] {
  const clones = new Map<MountJob, MountJobResult>();
  let isHome = false;
  try {
    for (const job of jobs) {
      if (job.kind === 'transfer')
        clones.set(
          job,
          resultOf(() => clone(job)),
        );
    }
    const results = jobs.map((job) => {
      const cloned = clones.get(job);
      return cloned?.error ? cloned : resultOf(() => finish(job, cloned?.descriptor ?? 0));
    });
    comeHome();
    isHome = true;
    return results;
  } finally {
    const mounts = isHome ? [] : [...clones.values()];
    for (const { descriptor } of mounts) if (descriptor > 0) closeSync(descriptor);
  }
}

/** @returns the mount, which is attached nowhere */
function clone({ from, source, attributes }: Transfer): number {
  enter(from);
  using mount = openTree(source.fd, source.path);
  mountSetattr(mount.number, attributes, source.path);
  return mount.take();
}

/** @returns the descriptor that the job made, or 0 */
function finish(job: MountJob, cloned: number): number {
  if (job.kind === 'transfer') return attachClone(job, cloned);
  enter(job.namespace);
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

function attachClone({ to, target }: Transfer, cloned: number): number {
  using mount = new Descriptor(cloned);
  enter(to);
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

function enter({ fd, path }: MountNamespace): void {
  if (fd === current) return;
  enterMountNamespace(fd, path);
  current = fd;
}

/**
 * A thread that stayed in a container's namespace would keep the container's file systems busy, and do the next
 * job's work in the wrong place: it ends, and MountThread starts another.
 */
function comeHome(): void {
  try {
    enter(home);
  } catch (cause) {
    throw new Error(`it cannot come back to its own mount namespace: ${String(cause)}`, { cause });
  }
}

function resultOf(run: () => number): MountJobResult {
  try {
    return { descriptor: run() };
  } catch (error) {
    if (!(error instanceof SyscallError)) throw error;
    const { errno, syscall, path } = error;
    const about = path === undefined ? {} : { path };
    return { descriptor: 0, error: { errno: -errno, syscall, ...about } };
  }
}

unshareFileSystemState();
serveJobs(work);
