import type { ProcessHandle } from '../kernel/process-handle.ts';
import { AttachmentPod } from '../kubevirt/attachment-pod.ts';
import type { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import type {
  WantedContainerDisk,
  WantedHotplugContainerDisk,
  WantedKernelBoot,
} from '../kubevirt/wanted-volumes.ts';
import { type Artifact, imageAttributes } from './artifact.ts';
import type { Disk } from './disk/disk.ts';
import { verifyDisk } from './disk/verify-disk.ts';
import {
  type ImageFile,
  openDisk,
  openImageFile,
  refuseUnreadable,
  reopenForReading,
} from './disk-in-image.ts';
import type { Host } from './host.ts';
import { containerBehind } from './image-process.ts';
import { MounterError } from './mounter-error.ts';

/** The attachment pod of a hotplugged volume. @throws MounterError ENOTREADY where status names none yet */
export function attachmentPod(
  host: Host,
  { name, attachPodUID }: { readonly name: string; readonly attachPodUID: string | undefined },
): AttachmentPod {
  if (attachPodUID !== undefined) return new AttachmentPod(attachPodUID, host.layout);
  throw new MounterError(
    'ENOTREADY',
    `status.volumeStatus has no attachPodUID for the volume ${name} yet`,
  );
}

/** A container disk of the launcher pod, verified. */
export function containerDisk(
  host: Host,
  pod: LauncherPod,
  { name, index, path }: WantedContainerDisk,
): Promise<Artifact> {
  const places = { socket: pod.containerDiskSocket(index), target: pod.containerDiskTarget(index) };
  return disk(host, { kind: 'containerDisk', name, path }, places);
}

/** A container disk of an attachment pod, verified. */
export async function hotplugContainerDisk(
  host: Host,
  pod: LauncherPod,
  wanted: WantedHotplugContainerDisk,
): Promise<Artifact> {
  const { name, path } = wanted;
  const socket = attachmentPod(host, wanted).containerDiskSocket(name);
  const places = { socket, target: pod.hotplugImage(name) };
  return disk(host, { kind: 'hotplugContainerDisk', name, path }, places);
}

async function disk(
  host: Host,
  { kind, name, path }: { kind: Artifact['kind']; name: string; path: string | undefined },
  { socket, target }: { socket: PodPath; target: PodPath },
): Promise<Artifact> {
  return fromImage(host, socket, (process, image) => {
    using root = process.root();
    const found = openDisk(root, path, image);
    return owned(found, () => {
      const verified = verify(host, found, image);
      return artifact(process, found, {
        kind,
        volume: name,
        place: target,
        origin: image,
        disk: verified,
      });
    });
  });
}

/** The kernel and the initrd of an image, whichever the VMI names. */
export async function kernelBoot(
  host: Host,
  pod: LauncherPod,
  { kernelPath, initrdPath }: WantedKernelBoot,
): Promise<Artifact[]> {
  const artifacts: Artifact[] = [];
  try {
    for (const [volume, path] of [
      ['kernel', kernelPath],
      ['initrd', initrdPath],
    ] as const) {
      if (path === undefined) continue;
      const place = pod.kernelBootTarget(path);
      artifacts.push(
        await fromImage(host, pod.kernelBootSocket, (process, image) => {
          using root = process.root();
          const found = openImageFile(root, path, image);
          return owned(found, () => {
            refuseUnreadable(found, host.owner, image);
            return artifact(process, found, {
              kind: 'kernelBoot',
              volume,
              place,
              origin: image,
              disk: undefined,
            });
          });
        }),
      );
    }
    return artifacts;
  } catch (error) {
    for (const made of artifacts) made[Symbol.dispose]();
    throw error;
  }
}

async function fromImage(
  host: Host,
  socket: PodPath,
  make: (process: ProcessHandle, image: string) => Artifact,
): Promise<Artifact> {
  const process = await containerBehind(host, socket);
  try {
    return make(process, `the image behind ${host.text(socket)} (pid ${process.pid})`);
  } catch (error) {
    process[Symbol.dispose]();
    throw error;
  }
}

/** Closes the file if what is made of it is not made. */
function owned<T>({ file }: ImageFile, make: () => T): T {
  try {
    return make();
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
}

function verify(host: Host, found: ImageFile, image: string): Disk {
  refuseUnreadable(found, host.owner, image);
  using readable = reopenForReading(found.file);
  const { allowFormats } = host;
  return verifyDisk(readable.number, `${found.path} in ${image}`, { allowFormats });
}

function artifact(
  process: ProcessHandle,
  { file, path }: ImageFile,
  rest: Pick<Artifact, 'kind' | 'volume' | 'place' | 'origin' | 'disk'>,
): Artifact {
  return {
    ...rest,
    type: 'file',
    process,
    source: file,
    sourcePath: path,
    attributes: imageAttributes,
    [Symbol.dispose]: () => {
      file[Symbol.dispose]();
      process[Symbol.dispose]();
    },
  };
}
