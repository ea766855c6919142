import type { Descriptor } from '../kernel/descriptor.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import type { Artifact } from './artifact.ts';
import { attach } from './attach.ts';
import type { Host } from './host.ts';
import { isSameMountedFile, type MountedFile, mountedFile } from './mounted-file.ts';
import { MounterError } from './mounter-error.ts';
import { clearStage } from './stage.ts';
import { Target } from './target.ts';

/** Whether something had to be done. */
export type MountOutcome = 'mounted' | 'already mounted';

/** The file that is mounted at an artifact's place; undefined where none is. */
export function mountedAt(host: Host, { place }: Artifact): MountedFile | undefined {
  using target = Target.open(host, place, false);
  return target && lookAtMount(target);
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
  await clearStage(host, artifact.place);
  const { file, status } = target.make(artifact.type, earlier === undefined);
  using place = file;
  if (status?.isMountRoot) {
    refuseOther(host, artifact, mountedFile(status), earlier);
    return 'already mounted';
  }
  using mount = await attach(host, artifact, place, target);
  try {
    if (isSameMountedFile(lookAtMount(target), artifact.identity)) return 'mounted';
    throw new MounterError(
      'EHOSTILE',
      `${target.path} was changed by somebody while it was mounted: the mount is taken away again`,
    );
  } catch (error) {
    // What could not be looked at (no descriptor is left) is not known to be right either.
    if (mount) await detachAgain(host, mount, target);
    else await target.detach(host);
    throw error;
  }
}

function lookAtMount(target: Target): MountedFile | undefined {
  const found = target.look();
  using _file = found?.file;
  return found?.status.isMountRoot ? mountedFile(found.status) : undefined;
}

/** The mount that was attached a moment ago; it is gone already (EINVAL) where a tenant has removed its place. */
async function detachAgain(host: Host, mount: Descriptor, target: Target): Promise<void> {
  try {
    await host.thread.detach(host.mountNamespace, mount.number, target.path);
  } catch (error) {
    if (!hasCode(error, 'EINVAL')) throw error;
  }
}

/** @throws MounterError EHOSTILE where what is mounted is neither the artifact nor what was mounted for it before */
export function refuseOther(
  host: Host,
  { place, identity, sourcePath, origin }: Artifact,
  mounted: MountedFile,
  earlier: MountedFile | undefined,
): void {
  if (isSameMountedFile(mounted, identity)) return;
  if (isSameMountedFile(mounted, earlier)) return;
  throw new MounterError(
    'EHOSTILE',
    `something else than ${sourcePath} of ${origin} is mounted at ${host.text(place)} (inode ${mounted.inode} of device ${mounted.fileSystem}), and no record says that it belongs there; unmount --all takes it away`,
  );
}
