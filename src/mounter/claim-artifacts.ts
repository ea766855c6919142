import { chownSync, constants } from 'node:fs';
import type { Descriptor } from '../kernel/descriptor.ts';
import { type MountinfoEntry, parseMountinfo } from '../kernel/mountinfo.ts';
import { O_PATH } from '../kernel/open-flags.ts';
import {
  openat2,
  RESOLVE_IN_ROOT,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_XDEV,
} from '../kernel/openat2.ts';
import type { ProcessHandle } from '../kernel/process-handle.ts';
import { statx } from '../kernel/statx.ts';
import type { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { WantedHotplugVolume } from '../kubevirt/wanted-volumes.ts';
import { type Artifact, volumeAttributes } from './artifact.ts';
import { openImageFile } from './disk-in-image.ts';
import type { Host } from './host.ts';
import type { Owner } from './host-options.ts';
import { attachmentPod } from './image-artifacts.ts';
import { containerBehind } from './image-process.ts';
import { type MountedFile, mountedFile } from './mounted-file.ts';
import { MounterError } from './mounter-error.ts';

/** The file that KubeVirt and CDI keep a disk in, at the root of a volume with a file system. */
const diskImage = 'disk.img';

/**
 * A volume with a file system that an attachment pod has: the disk in it, or the whole directory of a memory dump
 * or a utility volume. It is given to QEMU's uid and gid, as virt-handler does.
 *
 * @throws MounterError ENOTREADY, EDISK
 */
export async function filesystemVolume(
  host: Host,
  pod: LauncherPod,
  wanted: WantedHotplugVolume,
): Promise<Artifact> {
  const process = await attachmentProcess(host, wanted);
  try {
    const { name, directory } = wanted;
    const { root, mountPoint } = openVolume(process, name);
    const source = directory ? root : diskOf(root, name, mountPoint);
    let identity: MountedFile;
    try {
      identity = give(source, host.owner);
    } catch (error) {
      source[Symbol.dispose]();
      throw error;
    }
    return {
      kind: 'hotplugVolume',
      volume: name,
      type: directory ? 'directory' : 'file',
      place: directory ? pod.hotplugTarget(name) : pod.hotplugImage(name),
      origin: `the volume ${name} of the attachment pod (pid ${process.pid})`,
      process,
      source,
      identity,
      sourcePath: directory ? mountPoint : `${mountPoint}/${diskImage}`,
      attributes: volumeAttributes,
      disk: undefined,
      [Symbol.dispose]: () => {
        source[Symbol.dispose]();
        process[Symbol.dispose]();
      },
    };
  } catch (error) {
    process[Symbol.dispose]();
    throw error;
  }
}

/** The process behind `hp.sock`, in whichever of the emptyDirs of the layout it is. */
async function attachmentProcess(host: Host, wanted: WantedHotplugVolume): Promise<ProcessHandle> {
  const { sockets } = attachmentPod(host, wanted);
  const present = sockets.find(({ directory }) => {
    using found = host.openDirectory(directory);
    return found !== undefined;
  });
  const [first] = sockets;
  const socket = present ?? first;
  if (socket === undefined) throw new MounterError('EUNSUPPORTED', 'the layout names no hp.sock');
  return containerBehind(host, socket);
}

/** Directories of a root file system, where a container has mounts that are nobody's volume: /usr/bin, /dev/shm. */
const system = /^\/(bin|boot|dev|etc|lib|lib32|lib64|proc|run|sbin|sys|usr|var\/run)(\/|$)/;

function canBeVolume({ mountPoint }: MountinfoEntry, name: string): boolean {
  return mountPoint.endsWith(`/${name}`) && !system.test(mountPoint);
}

/**
 * The mount of the volume in the attachment pod: the one whose last path component is the volume's name, which
 * KubeVirt mounts at `/<volume>`.
 *
 * @throws MounterError ENOTREADY, EDISK where there are several
 */
function openVolume(
  process: ProcessHandle,
  name: string,
): { root: Descriptor; mountPoint: string } {
  const mounts = parseMountinfo(process.read('mountinfo'));
  const exact = mounts.filter(({ mountPoint }) => mountPoint === `/${name}`);
  const found = exact.length > 0 ? exact : mounts.filter((mount) => canBeVolume(mount, name));
  const visible = found.filter(
    ({ id, mountPoint }) =>
      !mounts.some((above) => above.parentId === id && above.mountPoint === mountPoint),
  );
  const [mount] = visible;
  if (mount === undefined) {
    throw new MounterError(
      'ENOTREADY',
      `the attachment pod (pid ${process.pid}) has no mount of the volume ${name}`,
    );
  }
  const points = new Set(visible.map(({ mountPoint }) => mountPoint));
  if (points.size > 1) {
    throw new MounterError(
      'EDISK',
      `the attachment pod (pid ${process.pid}) has the volume ${name} at ${[...points].join(' and ')}`,
    );
  }
  using processRoot = process.root();
  const root = openat2(processRoot.number, mount.mountPoint.slice(1), {
    flags: O_PATH | constants.O_DIRECTORY,
    resolve: RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
  });
  if (statx(root.number).isMountRoot) return { root, mountPoint: mount.mountPoint };
  root[Symbol.dispose]();
  throw new MounterError(
    'EDISK',
    `${mount.mountPoint} of process ${process.pid} is no mount any more`,
  );
}

/** What a pod has mounted over the disk is not of the volume, and must not be given away as if it were. */
function diskOf(root: Descriptor, name: string, mountPoint: string): Descriptor {
  using volume = root;
  const about = `the volume ${name} (${mountPoint})`;
  return openImageFile(volume.number, diskImage, about, RESOLVE_NO_XDEV).file;
}

/** @returns which file it is */
function give(source: Descriptor, { uid, gid }: Owner): MountedFile {
  const status = statx(source.number);
  if (status.uid !== uid || status.gid !== gid) chownSync(source.path, uid, gid);
  return mountedFile(status);
}
