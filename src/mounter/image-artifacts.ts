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
import type { Host } from './host.ts';
import type { ImageJob, OpenedImageFile } from './image-job.ts';
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
  return fromImage(host, socket, { kind: 'disk', path }, { kind, volume: name, place: target });
}

/** The kernel and the initrd of an image, whichever the VMI names. */
export async function kernelBoot(
  host: Host,
  pod: LauncherPod,
  { kernelPath, initrdPath }: WantedKernelBoot,
): Promise<Artifact[]> {
  const files = { kernel: kernelPath, initrd: initrdPath };
  const settled = await Promise.allSettled(
    Object.entries(files).map(async ([volume, path]) => {
      if (path === undefined) return [];
      const place = pod.kernelBootTarget(path);
      const about = { kind: 'kernelBoot', volume, place } as const;
      return [await fromImage(host, pod.kernelBootSocket, { kind: 'file', path }, about)];
    }),
  );
  const made = settled.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const failure = settled.find(({ status }) => status === 'rejected');
  if (failure === undefined) return made;
  for (const artifact of made) artifact[Symbol.dispose]();
  throw (failure as PromiseRejectedResult).reason;
}

async function fromImage(
  host: Host,
  socket: PodPath,
  wanted: Pick<ImageJob, 'kind' | 'path'>,
  about: Pick<Artifact, 'kind' | 'volume' | 'place'>,
): Promise<Artifact> {
  const process = await containerBehind(host, socket);
  try {
    const origin = `the image behind ${host.text(socket)} (pid ${process.pid})`;
    const opened = await openInImage(host, process, { ...wanted, image: origin });
    const { file: source, path: sourcePath, identity, disk } = opened;
    return {
      ...about,
      type: 'file',
      process,
      origin,
      source,
      sourcePath,
      identity,
      disk,
      attributes: imageAttributes,
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

/** Opens a file of the image that a process runs in. */
export function openInImage(
  { images, owner, allowFormats, timeout }: Host,
  process: ProcessHandle,
  file: Pick<ImageJob, 'kind' | 'path' | 'image'>,
): Promise<OpenedImageFile> {
  return images.open({ ...file, root: process.root(), owner, allowFormats }, timeout);
}
