import type { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { WantedVolume } from '../kubevirt/wanted-volumes.ts';
import type { Artifact } from './artifact.ts';
import { filesystemVolume } from './claim-artifacts.ts';
import type { Host } from './host.ts';
import { containerDisk, hotplugContainerDisk, kernelBoot } from './image-artifacts.ts';

/** The name of a wanted volume in messages and tables. */
export function volumeName(wanted: WantedVolume): string {
  return wanted.kind === 'kernelBoot' ? 'kernel-boot' : wanted.name;
}

/** Whether a wanted volume is a device node, not something that is mounted. */
export function isBlock(wanted: WantedVolume): boolean {
  return wanted.kind === 'hotplugVolume' && wanted.volumeMode === 'Block';
}

/** What is to be mounted for a volume that is no block device: opened, and verified where it is a disk of an image. */
export async function artifactsOf(
  host: Host,
  pod: LauncherPod,
  wanted: WantedVolume,
): Promise<Artifact[]> {
  switch (wanted.kind) {
    case 'containerDisk':
      return [await containerDisk(host, pod, wanted)];
    case 'hotplugContainerDisk':
      return [await hotplugContainerDisk(host, pod, wanted)];
    case 'kernelBoot':
      return kernelBoot(host, pod, wanted);
    case 'hotplugVolume':
      return [await filesystemVolume(host, pod, wanted)];
  }
}
