import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Descriptor } from '../kernel/descriptor.ts';
import { readMountinfo } from '../kernel/mountinfo.ts';
import { isSameFile, statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import type { Artifact } from './artifact.ts';
import type { Host } from './host.ts';
import { hostView } from './image-root.ts';
import { MounterError } from './mounter-error.ts';
import { Target } from './target.ts';

/** Whether something had to be done. */
export type MountOutcome = 'mounted' | 'already mounted';

/** Whether something is mounted at an artifact's place already. */
export function isMounted(host: Host, { place }: Artifact): boolean {
  using target = Target.open(host, place, false);
  const found = target?.look();
  using _file = found?.file;
  return found?.status.isMountRoot ?? false;
}

/**
 * Mounts an artifact at its place in the launcher pod. What is mounted there already stays: a running virtual
 * machine reads from it, also when the container that it came from has been started anew since.
 *
 * @throws MounterError EHOSTILE where the place is not what it has to be
 */
export async function mountArtifact(host: Host, artifact: Artifact): Promise<MountOutcome> {
  using target = Target.open(host, artifact.place, true);
  if (target === undefined) {
    throw new MounterError(
      'ENOTREADY',
      `the directory of ${host.text(artifact.place)} is not there: the launcher pod has no such emptyDir`,
    );
  }
  using place = target.make(artifact.type);
  if (statx(place.number).isMountRoot) return 'already mounted';
  await attach(host, artifact, place, target);
  const there = target.look();
  using file = there?.file;
  if (
    file !== undefined &&
    there?.status.isMountRoot &&
    isSameFile(there.status, statx(artifact.source.number))
  ) {
    return 'mounted';
  }
  await detachByPlace(host, target, file);
  throw new MounterError(
    'EHOSTILE',
    `${target.path} was changed by somebody while it was mounted: the mount is taken away again`,
  );
}

async function attach(
  host: Host,
  artifact: Artifact,
  place: Descriptor,
  target: Target,
): Promise<void> {
  if (host.strategy !== 'mountinfo') {
    try {
      await attachTree(host, artifact, place, target);
      return;
    } catch (error) {
      if (host.strategy === 'open_tree' || !hasCode(error, 'ENOSYS')) throw error;
    }
  }
  await attachBind(host, artifact, place, target);
}

/** open_tree(2) in the namespace of the source, move_mount(2) in the host's. */
async function attachTree(
  host: Host,
  { process, source, attributes, sourcePath }: Artifact,
  place: Descriptor,
  target: Target,
): Promise<void> {
  using namespace = process.mountNamespace();
  const from = { fd: namespace.number, path: `/proc/${process.pid}/ns/mnt` };
  using mount = await host.thread.clone(from, source.number, attributes, sourcePath);
  await host.thread.attach(host.mountNamespace, mount.number, place.number, target.path);
}

/** A bind mount of the file where the host sees it. */
async function attachBind(
  host: Host,
  artifact: Artifact,
  place: Descriptor,
  target: Target,
): Promise<void> {
  const { process, source, attributes } = artifact;
  using seen = hostView(host, process, source, readMountinfo(host.mountinfoProcess));
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

/** What a swapped name leads to now is not ours; only a mount that is there is taken away. */
async function detachByPlace(
  host: Host,
  target: Target,
  file: Descriptor | undefined,
): Promise<void> {
  if (file !== undefined && statx(file.number).isMountRoot) await target.detach(host);
}
