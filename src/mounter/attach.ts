import type { Descriptor } from '../kernel/descriptor.ts';
import type { MountNamespace } from '../kernel/mount-thread.ts';
import { ProcessGoneError, type ProcessHandle } from '../kernel/process-handle.ts';
import { hasCode, SyscallError } from '../kernel/syscall-error.ts';
import type { Artifact } from './artifact.ts';
import type { Host } from './host.ts';
import { hostView } from './image-root.ts';
import { MounterError, messageOf } from './mounter-error.ts';
import { withStage } from './stage.ts';
import type { Target } from './target.ts';

/**
 * Mounts the source of an artifact on an open place, by the strategy of the host: out of the container's mount
 * namespace, or from where the host's mount table shows it.
 *
 * @returns the mount, where the kernel gives a descriptor of it
 */
export async function attach(
  host: Host,
  artifact: Artifact,
  place: Descriptor,
  target: Target,
): Promise<Descriptor | undefined> {
  const { process, source } = artifact;
  if (host.strategy !== 'mountinfo') {
    const from = { fd: process.pidfd, path: `/proc/${process.pid}/ns/mnt` };
    const mount = await transfer(host, artifact, { from, source, place, target });
    if (mount) return mount;
    if (host.strategy === 'open_tree') {
      throw new MounterError(
        'EUNSUPPORTED',
        'this kernel has no open_tree or mount_setattr, which are in Linux 5.12; --strategy mountinfo needs neither',
      );
    }
  }
  using seen = seenByHost(host, artifact);
  const from = host.mountNamespace;
  const mount = await transfer(host, artifact, { from, source: seen, place, target });
  if (mount === undefined) await bindTo(host, artifact, { source: seen, place, target });
  return mount;
}

/** @returns undefined where the kernel cannot clone a mount and set its attributes */
async function transfer(
  host: Host,
  { attributes, sourcePath, process, origin }: Artifact,
  {
    from,
    source,
    place,
    target,
  }: { from: MountNamespace; source: Descriptor; place: Descriptor; target: Target },
): Promise<Descriptor | undefined> {
  try {
    return await host.thread.transfer({
      from,
      source: { fd: source.number, path: sourcePath },
      attributes,
      to: host.mountNamespace,
      target: { fd: place.number, path: target.path },
    });
  } catch (error) {
    if (hasCode(error, 'ENOSYS')) return undefined;
    if (!(error instanceof SyscallError)) throw error;
    if (error.syscall === 'setns' && error.code === 'ESRCH') throw ended(process, origin, error);
    if (error.syscall === 'move_mount') throw explained(error, host, target);
    if (error.syscall === 'open_tree' && error.code === 'EINVAL') {
      throw new MounterError(
        'EHOSTILE',
        `${sourcePath} of ${origin} is on no mount of its container any more: somebody has unmounted it since it was opened`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** mount(2) with MS_BIND, by way of a stage of our own. */
async function bindTo(
  host: Host,
  { attributes, place: { directory, entry }, type }: Artifact,
  { source, place, target }: { source: Descriptor; place: Descriptor; target: Target },
): Promise<void> {
  const { thread, mountNamespace } = host;
  await withStage(host, { directory, entry }, type, async (stage) => {
    const { path } = target;
    try {
      await thread.bind(mountNamespace, source.number, stage, place.number, attributes, path);
    } catch (error) {
      throw explained(error, host, target);
    }
  });
}

function explained(cause: unknown, { mountNamespace }: Host, { path }: Target): unknown {
  if (hasCode(cause, 'ENOENT', 'ENOTDIR')) {
    return new MounterError(
      'EHOSTILE',
      `${path} was taken away by somebody while it was mounted (${messageOf(cause)})`,
      { cause },
    );
  }
  if (!hasCode(cause, 'EINVAL')) return cause;
  return new MounterError(
    'EUNSUPPORTED',
    `${path} is not on a mount of the host's namespace (${mountNamespace.path}): --host-root has to be the host's root, which is /proc/1/root in a pod (${messageOf(cause)})`,
    { cause },
  );
}

function ended({ pid }: ProcessHandle, origin: string, cause: Error): MounterError {
  const { message } = new ProcessGoneError(pid);
  return new MounterError('EDEAD', `cannot mount from ${origin}: ${message}`, { cause });
}

function seenByHost(host: Host, { process, source, sourcePath, origin }: Artifact): Descriptor {
  const seen = hostView(host, process, source, host.mountTable());
  if (seen) return seen;
  throw new MounterError(
    'EUNSUPPORTED',
    `the host's mount table has no mount with ${sourcePath} of ${origin} (Linux 5.12 or later with --strategy auto does not need it)`,
  );
}
