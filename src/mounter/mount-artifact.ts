import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Descriptor } from '../kernel/descriptor.ts';
import { ProcessGoneError, type ProcessHandle } from '../kernel/process-handle.ts';
import { isSameFile, statx } from '../kernel/statx.ts';
import { hasCode, SyscallError } from '../kernel/syscall-error.ts';
import type { Artifact } from './artifact.ts';
import type { Host } from './host.ts';
import { hostView } from './image-root.ts';
import { isSameMountedFile, type MountedFile, mountedFile } from './mounted-file.ts';
import { MounterError, messageOf } from './mounter-error.ts';
import { Target } from './target.ts';

/** Whether something had to be done. */
export type MountOutcome = 'mounted' | 'already mounted';

/** The file that is mounted at an artifact's place; undefined where none is. */
export function mountedAt(host: Host, { place }: Artifact): MountedFile | undefined {
  using target = Target.open(host, place, false);
  const found = target?.look();
  using _file = found?.file;
  return found?.status.isMountRoot ? mountedFile(found.status) : undefined;
}

/**
 * Mounts an artifact at its place in the launcher pod. What was mounted there for this volume stays: a running
 * virtual machine reads from it, also when the container that it came from has been started anew since.
 *
 * @param earlier the file that was mounted there by an earlier run
 * @throws MounterError EHOSTILE where the place is not what it has to be, or something else is mounted there
 */
export async function mountArtifact(
  host: Host,
  artifact: Artifact,
  earlier: MountedFile | undefined,
): Promise<MountOutcome> {
  using target = Target.open(host, artifact.place, true);
  if (target === undefined) {
    throw new MounterError(
      'ENOTREADY',
      `the directory of ${host.text(artifact.place)} is not there: the launcher pod has no such emptyDir`,
    );
  }
  using place = target.make(artifact.type);
  const status = statx(place.number);
  if (status.isMountRoot) {
    refuseOther(host, artifact, mountedFile(status), earlier);
    return 'already mounted';
  }
  using mount = await attach(host, artifact, place, target);
  const there = target.look();
  using file = there?.file;
  if (
    file !== undefined &&
    there?.status.isMountRoot &&
    isSameFile(there.status, statx(artifact.source.number))
  ) {
    return 'mounted';
  }
  if (mount) await host.thread.detach(host.mountNamespace, mount.number, target.path);
  else await target.detach(host);
  throw new MounterError(
    'EHOSTILE',
    `${target.path} was changed by somebody while it was mounted: the mount is taken away again`,
  );
}

/** @throws MounterError EHOSTILE where what is mounted is neither the artifact nor what was mounted for it before */
export function refuseOther(
  host: Host,
  { place, source, sourcePath, origin }: Artifact,
  mounted: MountedFile,
  earlier: MountedFile | undefined,
): void {
  if (isSameMountedFile(mounted, mountedFile(statx(source.number)))) return;
  if (isSameMountedFile(mounted, earlier)) return;
  throw new MounterError(
    'EHOSTILE',
    `something else than ${sourcePath} of ${origin} is mounted at ${host.text(place)} (inode ${mounted.inode} of device ${mounted.fileSystem}), and no record says that it belongs there; unmount --all takes it away`,
  );
}

/** @returns the mount, where there is a descriptor of it */
async function attach(
  host: Host,
  artifact: Artifact,
  place: Descriptor,
  target: Target,
): Promise<Descriptor | undefined> {
  if (host.strategy !== 'mountinfo') {
    try {
      return await attachTree(host, artifact, place, target);
    } catch (error) {
      if (host.strategy === 'open_tree' || !hasCode(error, 'ENOSYS')) throw error;
    }
  }
  await attachBind(host, artifact, place, target);
  return undefined;
}

/** open_tree(2) in the namespace of the source, move_mount(2) in the host's. */
async function attachTree(
  host: Host,
  { process, source, attributes, sourcePath, origin }: Artifact,
  place: Descriptor,
  target: Target,
): Promise<Descriptor> {
  using namespace = namespaceOf(process, origin);
  const from = { fd: namespace.number, path: `/proc/${process.pid}/ns/mnt` };
  const { mountNamespace } = host;
  try {
    return await host.thread.transfer({
      from,
      source: { fd: source.number, path: sourcePath },
      attributes,
      to: mountNamespace,
      target: { fd: place.number, path: target.path },
    });
  } catch (cause) {
    const isMove = cause instanceof SyscallError && cause.syscall === 'move_mount';
    if (!isMove || cause.code !== 'EINVAL') throw cause;
    throw new MounterError(
      'EUNSUPPORTED',
      `${target.path} is not on a mount of the host's namespace (${mountNamespace.path}): --host-root has to be the host's root, which is /proc/1/root in a pod (${messageOf(cause)})`,
      { cause },
    );
  }
}

function namespaceOf(process: ProcessHandle, origin: string): Descriptor {
  try {
    return process.mountNamespace();
  } catch (cause) {
    if (!(cause instanceof ProcessGoneError)) throw cause;
    throw new MounterError('EDEAD', `cannot mount from ${origin}: ${cause.message}`, { cause });
  }
}

/** A bind mount of the file where the host sees it. */
async function attachBind(
  host: Host,
  artifact: Artifact,
  place: Descriptor,
  target: Target,
): Promise<void> {
  const { process, source, attributes } = artifact;
  using seen = hostView(host, process, source, host.mountTable());
  if (seen === undefined) {
    throw new MounterError(
      'EUNSUPPORTED',
      `the host's mount table has no mount with ${artifact.sourcePath} of process ${process.pid} (a kernel with open_tree, 5.12 or later, does not need it)`,
    );
  }
  const stages = join(host.stateDirectory, 'stage');
  const stage = join(stages, `${globalThis.process.pid}-${process.pid}-${Date.now()}`);
  mkdirSync(stages, { recursive: true, mode: 0o700 });
  try {
    if (artifact.type === 'directory') mkdirSync(stage);
    else writeFileSync(stage, '', { flag: 'wx' });
    await host.thread.bind(
      host.mountNamespace,
      seen.number,
      stage,
      place.number,
      attributes,
      target.path,
    );
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}
