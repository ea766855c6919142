/** What is read of a VirtualMachineInstance, the object of KubeVirt's API `kubevirt.io/v1`. */
export interface VirtualMachineInstance {
  /** `metadata.name` */
  readonly name: string;
  /** `metadata.namespace`; `default` where it is left out. */
  readonly namespace: string;
  /** `metadata.uid`: a plain name, can be one component of a path. */
  readonly uid: string;
  /** `spec.volumes`, every one of them: the index of a volume is part of the names of its socket and its target. */
  readonly volumes: readonly Volume[];
  /** `spec.utilityVolumes[].name`: claims that are hotplugged into the launcher pod as directories and are not given to the guest. */
  readonly utilityVolumes: readonly string[];
  /** `spec.domain.firmware.kernelBoot.container`: the image with a kernel and an initrd to boot from. */
  readonly kernelBoot: KernelBoot | undefined;
  /** `status.activePods`: the uids of the launcher pods that have not ended, each with the name of its node. */
  readonly activePods: ReadonlyMap<string, string>;
  /** `status.volumeStatus`, by the name of the volume. */
  readonly volumeStatus: ReadonlyMap<string, VolumeStatus>;
  /** `status.kernelBootStatus` */
  readonly kernelBootStatus: KernelBootStatus;
  /** `status.migrationState`: the live migration that is under way, or the last one that was. */
  readonly migration: Migration | undefined;
  /** `status.migratedVolumes`, by the name of the volume: what is copied to another claim while the machine is migrated. */
  readonly migratedVolumes: ReadonlyMap<string, MigratedVolume>;
}

/** One of `spec.volumes`. */
export interface Volume {
  /** Position in `spec.volumes`, counted from 0 over volumes of every kind. */
  readonly index: number;
  /** `name`: a label of RFC 1123, unique among volumes and utility volumes. */
  readonly name: string;
  /** Undefined where it is of a kind that is not mounted here (cloudInitNoCloud, secret and so on). */
  readonly source: VolumeSource | undefined;
}

export type VolumeSource = ContainerDisk | ClaimVolume;

/** `containerDisk`: a disk in a container image. */
export interface ContainerDisk {
  readonly kind: 'containerDisk';
  /** `image`: the reference of the image, to be shown only. */
  readonly image: string | undefined;
  /** `path` of the disk in the image; undefined: the one file in `/disk`. */
  readonly path: string | undefined;
  /** `hotpluggable`: its image runs in an attachment pod, not in the launcher pod. */
  readonly hotpluggable: boolean;
}

/** A disk, or a directory, in a persistent volume. */
export interface ClaimVolume {
  /** The field that was set. Of these a `memoryDump` is mounted as a directory. */
  readonly kind: 'persistentVolumeClaim' | 'dataVolume' | 'memoryDump';
  /** `claimName`, or `name` of a dataVolume; to be shown only. */
  readonly claim: string | undefined;
  /** `hotpluggable`: mounted through an attachment pod, also when it was there before the machine started. */
  readonly hotpluggable: boolean;
}

/** `spec.domain.firmware.kernelBoot.container` */
export interface KernelBoot {
  /** `image`: the reference of the image, to be shown only. */
  readonly image: string | undefined;
  /** `kernelPath` in the image. */
  readonly kernelPath: string | undefined;
  /** `initrdPath` in the image. Its last name is another than that of `kernelPath`: both are mounted in one directory. */
  readonly initrdPath: string | undefined;
}

/** `volumeMode` of a PersistentVolumeClaim. */
export type VolumeMode = 'Block' | 'Filesystem';

/** One of `status.volumeStatus`. */
export interface VolumeStatus {
  /** `hotplugVolume` is there: the volume goes through an attachment pod. */
  readonly hotplugged: boolean;
  /** `hotplugVolume.attachPodUID`; undefined as long as the attachment pod does not run. */
  readonly attachPodUID: string | undefined;
  /** `persistentVolumeClaimInfo.volumeMode` */
  readonly volumeMode: VolumeMode | undefined;
  /** `memoryDumpVolume` is there. */
  readonly memoryDump: boolean;
  /** `containerDiskVolume.checksum`: CRC-32 of the file of the disk when the machine started; 0 is the same as absent. */
  readonly checksum: number | undefined;
}

/** `status.kernelBootStatus` */
export interface KernelBootStatus {
  /** `kernelInfo.checksum`: CRC-32 of the kernel's file; 0 is the same as absent. */
  readonly kernelChecksum: number | undefined;
  /** `initrdInfo.checksum`: CRC-32 of the initrd's file; 0 is the same as absent. */
  readonly initrdChecksum: number | undefined;
}

/** `status.migrationState` */
export interface Migration {
  /** `completed`: it has ended, well or not. Its other fields then describe the past. */
  readonly completed: boolean;
  /** `targetNode`: the name of the node that the machine moves to. */
  readonly targetNode: string | undefined;
  /** `targetAttachmentPodUID`: the attachment pod on the target node, which has every hotplugged volume. */
  readonly targetAttachmentPodUID: string | undefined;
}

/** One of `status.migratedVolumes`. */
export interface MigratedVolume {
  /** `sourcePVCInfo.volumeMode` */
  readonly sourceVolumeMode: VolumeMode | undefined;
  /** `destinationPVCInfo.volumeMode` */
  readonly destinationVolumeMode: VolumeMode | undefined;
}
