/**
 * The host side of container disks as a library: `container-disk/mounter`.
 *
 * @packageDocumentation
 */
export { kubeVirtLayout, type Layout, layoutWith } from '../kubevirt/layout.ts';
export { ManifestError, type ManifestErrorCode } from '../kubevirt/manifest-error.ts';
export { readManifestFile } from '../kubevirt/manifest-file.ts';
export { readVirtualMachineInstances } from '../kubevirt/read-virtual-machine-instances.ts';
export type {
  ClaimVolume,
  ContainerDisk,
  KernelBoot,
  KernelBootStatus,
  MigratedVolume,
  Migration,
  VirtualMachineInstance,
  Volume,
  VolumeMode,
  VolumeSource,
  VolumeStatus,
} from '../kubevirt/virtual-machine-instance.ts';
export type {
  WantedContainerDisk,
  WantedHotplugContainerDisk,
  WantedHotplugVolume,
  WantedKernelBoot,
  WantedVolume,
} from '../kubevirt/wanted-volumes.ts';
export type { ChecksumReport } from './checksums.ts';
export type { Disk, OtherDisk, Qcow2Disk, RawContent, RawDisk } from './disk/disk.ts';
export { type DiskRefusal, DiskRefusedError } from './disk/disk-refused-error.ts';
export type { OtherFormat } from './disk/other-format.ts';
export type { HostOptions, Owner, Strategy } from './host-options.ts';
export type { SocketReport } from './inspect.ts';
export type { ListedSocket, ListedVolume, Listing } from './list.ts';
export type { MountOutcome } from './mount-artifact.ts';
export type { MountOptions } from './mount-virtual-machine.ts';
export { Mounter, type MounterOptions, type VerbOptions } from './mounter.ts';
export { MounterError, type MounterErrorCode } from './mounter-error.ts';
export type { MountReport } from './prepared.ts';
export type { ReadyOptions, ReadyReport } from './ready.ts';
export type { MounterEvent } from './run-context.ts';
export type { UnmountOutcome } from './unmount-place.ts';
export type { UnmountOptions, UnmountReport } from './unmount-virtual-machine.ts';
