import { isLabel } from './names.ts';

/** What a file in an emptyDir of a virtual machine's pod belongs to. */
export type EntryOwner =
  | { readonly kind: 'containerDisk'; readonly index: number }
  | { readonly kind: 'kernelBoot' }
  | { readonly kind: 'hotplugPod' }
  | { readonly kind: 'hotplugContainerDisk'; readonly volume: string }
  | { readonly kind: 'hotplugVolume'; readonly volume: string };

export const kernelBootName = 'kernel-boot';
export const kernelBootSocketName = 'kernel-boot.sock';
export const hotplugSocketName = 'hp.sock';
export const launcherSocketName = 'launcher-sock';

export function containerDiskSocketName(index: number): string {
  return `disk_${index}.sock`;
}

export function containerDiskTargetName(index: number): string {
  return `disk_${index}.img`;
}

export function hotplugContainerDiskSocketName(volume: string): string {
  return `hotplug-container-disk-${volume}.sock`;
}

export function hotplugImageName(volume: string): string {
  return `${volume}.img`;
}

/** The owner of a socket by its file name; undefined for every other name. */
export function parseSocketName(name: string): EntryOwner | undefined {
  if (name === kernelBootSocketName) return { kind: 'kernelBoot' };
  if (name === hotplugSocketName) return { kind: 'hotplugPod' };
  const index = indexIn(name, '.sock');
  if (index !== undefined) return { kind: 'containerDisk', index };
  const volume = /^hotplug-container-disk-(.+)\.sock$/.exec(name)?.[1];
  return volume !== undefined && isLabel(volume)
    ? { kind: 'hotplugContainerDisk', volume }
    : undefined;
}

/** The owner of a target in the emptyDir of container disks; that of kernel boot is a directory. */
export function parseContainerDiskTargetName(name: string): EntryOwner | undefined {
  if (name === kernelBootName) return { kind: 'kernelBoot' };
  const index = indexIn(name, '.img');
  return index === undefined ? undefined : { kind: 'containerDisk', index };
}

/** The owner of a target in the emptyDir of hotplugged disks: `<volume>.img`, or `<volume>` for a device or a directory. */
export function parseHotplugTargetName(name: string): EntryOwner | undefined {
  const volume = name.endsWith('.img') ? name.slice(0, -'.img'.length) : name;
  return isLabel(volume) ? { kind: 'hotplugVolume', volume } : undefined;
}

/** Only as KubeVirt writes it: `disk_07` is none, and neither is an index that no list of volumes can have. */
function indexIn(name: string, suffix: string): number | undefined {
  const digits = /^disk_(0|[1-9][0-9]{0,6})(\.[a-z]+)$/.exec(name);
  return digits?.[2] === suffix ? Number(digits[1]) : undefined;
}
