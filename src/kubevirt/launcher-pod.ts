import { basename } from 'node:path';
import {
  containerDiskSocketName,
  containerDiskTargetName,
  hotplugImageName,
  kernelBootName,
  kernelBootSocketName,
  launcherSocketName,
} from './entry-names.ts';
import { kubeVirtLayout, type Layout } from './layout.ts';
import { emptyDir, type PodPath } from './pod-path.ts';

/** Where the files of a launcher pod are, the pod that a virtual machine runs in. Computes paths, touches nothing. */
export class LauncherPod {
  readonly uid: string;
  readonly #layout: Layout;

  /** @throws {RangeError} where the uid is not a plain name */
  constructor(uid: string, layout: Layout = kubeVirtLayout) {
    this.uid = uid;
    this.#layout = layout;
    emptyDir(uid, layout.containerDisks);
  }

  /** The emptyDir of container disks itself. */
  get containerDisks(): PodPath {
    return this.#containerDisk();
  }

  /** @param index of the volume in `spec.volumes` */
  containerDiskSocket(index: number): PodPath {
    return this.#containerDisk(containerDiskSocketName(index));
  }

  /** @param index of the volume in `spec.volumes` */
  containerDiskTarget(index: number): PodPath {
    return this.#containerDisk(containerDiskTargetName(index));
  }

  get kernelBootSocket(): PodPath {
    return this.#containerDisk(kernelBootSocketName);
  }

  /** The directory of the targets of kernel boot. */
  get kernelBootDirectory(): PodPath {
    return this.#containerDisk(kernelBootName);
  }

  /** @param path of the kernel or the initrd in its image, as read from a VirtualMachineInstance */
  kernelBootTarget(path: string): PodPath {
    return this.#containerDisk(kernelBootName, basename(path));
  }

  /** The emptyDir of hotplugged disks itself. */
  get hotplugDisks(): PodPath {
    return this.#hotplugDisk();
  }

  /** The target of a hotplugged volume that is a file. */
  hotplugImage(volume: string): PodPath {
    return this.#hotplugDisk(hotplugImageName(volume));
  }

  /** The target of a hotplugged volume that is a block device or a directory. */
  hotplugTarget(volume: string): PodPath {
    return this.#hotplugDisk(volume);
  }

  get launcherSocket(): PodPath {
    return {
      directory: emptyDir(this.uid, this.#layout.launcherSockets),
      entry: [launcherSocketName],
    };
  }

  #containerDisk(...entry: string[]): PodPath {
    return { directory: emptyDir(this.uid, this.#layout.containerDisks), entry };
  }

  #hotplugDisk(...entry: string[]): PodPath {
    return { directory: emptyDir(this.uid, this.#layout.hotplugDisks), entry };
  }
}
