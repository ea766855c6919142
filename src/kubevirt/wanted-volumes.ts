import type {
  ClaimVolume,
  VirtualMachineInstance,
  Volume,
  VolumeMode,
} from './virtual-machine-instance.ts';

/** One thing that is to be mounted for a virtual machine. */
export type WantedVolume =
  | WantedContainerDisk
  | WantedKernelBoot
  | WantedHotplugContainerDisk
  | WantedHotplugVolume;

export interface WantedContainerDisk {
  readonly kind: 'containerDisk';
  readonly name: string;
  /** Position in `spec.volumes`. */
  readonly index: number;
  /** In the image; undefined: the one file in `/disk`. */
  readonly path: string | undefined;
  /** CRC-32 that status has for it. */
  readonly checksum: number | undefined;
}

export interface WantedKernelBoot {
  readonly kind: 'kernelBoot';
  readonly kernelPath: string | undefined;
  readonly initrdPath: string | undefined;
  /** CRC-32 that status has for the kernel. */
  readonly kernelChecksum: number | undefined;
  /** CRC-32 that status has for the initrd. */
  readonly initrdChecksum: number | undefined;
}

export interface WantedHotplugContainerDisk {
  readonly kind: 'hotplugContainerDisk';
  readonly name: string;
  /** The pod that its image runs in; undefined as long as there is none. */
  readonly attachPodUID: string | undefined;
  readonly path: string | undefined;
  readonly checksum: number | undefined;
}

export interface WantedHotplugVolume {
  readonly kind: 'hotplugVolume';
  readonly name: string;
  /** The pod that the volume is in; undefined as long as there is none. */
  readonly attachPodUID: string | undefined;
  /** Of the claim on this side of a migration. */
  readonly volumeMode: VolumeMode;
  /** The whole directory is mounted (a memory dump, a utility volume), not the disk in it; never so with a block device. */
  readonly directory: boolean;
}

export interface WantedOptions {
  /**
   * The name of this node. Without it a migration that is under way is taken to come to this node as soon
   * as it has a target attachment pod.
   */
  readonly node?: string | undefined;
  /** The attachment pod to mount from, whatever status says. */
  readonly attachPodUID?: string | undefined;
}

/**
 * What the spec of a virtual machine asks to be mounted on this node, in the order of the spec. A volume
 * that only status still has is not in it: it has been removed, and is not mounted again.
 */
export function wantedVolumes(
  instance: VirtualMachineInstance,
  options: WantedOptions = {},
): WantedVolume[] {
  const side = new Side(instance, options);
  return [
    ...instance.volumes.flatMap((volume) => wantedVolume(volume, side)),
    ...(instance.kernelBoot === undefined
      ? []
      : [
          {
            kind: 'kernelBoot',
            kernelPath: instance.kernelBoot.kernelPath,
            initrdPath: instance.kernelBoot.initrdPath,
            ...instance.kernelBootStatus,
          } as const,
        ]),
    // A migration waits until there are no utility volumes; no attachment pod on its target has them.
    ...(side.isTarget
      ? []
      : instance.utilityVolumes.map((name) => hotplugVolume(name, true, side))),
  ];
}

function wantedVolume({ name, index, source }: Volume, side: Side): WantedVolume[] {
  if (source === undefined) return [];
  if (source.kind !== 'containerDisk') {
    return isHotplugged(name, source, side)
      ? [hotplugVolume(name, isMemoryDump(name, source, side), side)]
      : [];
  }
  const { path } = source;
  const checksum = side.instance.volumeStatus.get(name)?.checksum;
  return source.hotpluggable
    ? [
        {
          kind: 'hotplugContainerDisk',
          name,
          attachPodUID: side.attachPodUID(name),
          path,
          checksum,
        },
      ]
    : [{ kind: 'containerDisk', name, index, path, checksum }];
}

/** A claim that was there when the machine was made may lack the flag of the spec; one that is new lacks a status. */
function isHotplugged(name: string, source: ClaimVolume, { instance }: Side): boolean {
  return source.hotpluggable || instance.volumeStatus.get(name)?.hotplugged === true;
}

function isMemoryDump(name: string, source: ClaimVolume, { instance }: Side): boolean {
  return source.kind === 'memoryDump' || instance.volumeStatus.get(name)?.memoryDump === true;
}

function hotplugVolume(name: string, directory: boolean, side: Side): WantedHotplugVolume {
  const volumeMode = side.volumeMode(name);
  return {
    kind: 'hotplugVolume',
    name,
    attachPodUID: side.attachPodUID(name),
    volumeMode,
    directory: directory && volumeMode === 'Filesystem',
  };
}

/** The side of a migration that this node is on. Without a migration every node is the source. */
class Side {
  readonly instance: VirtualMachineInstance;
  readonly isTarget: boolean;
  readonly #attachPodUID: string | undefined;

  constructor(instance: VirtualMachineInstance, options: WantedOptions) {
    const { migration } = instance;
    this.instance = instance;
    this.#attachPodUID = options.attachPodUID;
    this.isTarget =
      migration !== undefined &&
      !migration.completed &&
      (options.node === undefined
        ? migration.targetAttachmentPodUID !== undefined
        : migration.targetNode === options.node);
  }

  /** The pod that status has for a volume is on the source's node: the target has another one for all of them. */
  attachPodUID(name: string): string | undefined {
    if (this.#attachPodUID !== undefined) return this.#attachPodUID;
    return this.isTarget
      ? this.instance.migration?.targetAttachmentPodUID
      : this.instance.volumeStatus.get(name)?.attachPodUID;
  }

  /** Kubernetes takes a claim without a mode for a file system. */
  volumeMode(name: string): VolumeMode {
    return this.#migratedVolumeMode(name) ?? this.#statusVolumeMode(name) ?? 'Filesystem';
  }

  /** After a migration the claim in status is the one in use, and the list only tells of the past. */
  #migratedVolumeMode(name: string): VolumeMode | undefined {
    if (this.instance.migration?.completed === true) return undefined;
    const migrated = this.instance.migratedVolumes.get(name);
    return this.isTarget ? migrated?.destinationVolumeMode : migrated?.sourceVolumeMode;
  }

  #statusVolumeMode(name: string): VolumeMode | undefined {
    return this.instance.volumeStatus.get(name)?.volumeMode;
  }
}
