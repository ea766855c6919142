import { hotplugContainerDiskSocketName, hotplugSocketName } from './entry-names.ts';
import { kubeVirtLayout, type Layout } from './layout.ts';
import { emptyDir, type PodPath } from './pod-path.ts';

/** Where the files of an attachment pod are, the pod that hotplugged volumes come through. Computes paths, touches nothing. */
export class AttachmentPod {
  readonly uid: string;
  readonly #layout: Layout;

  /** @throws {RangeError} where the uid is not a plain name */
  constructor(uid: string, layout: Layout = kubeVirtLayout) {
    this.uid = uid;
    this.#layout = layout;
    emptyDir(uid, layout.hotplugContainerDisks);
  }

  /** The places where `hp.sock` may be, in the order of the layout; the pod has one of them. */
  get sockets(): readonly PodPath[] {
    return this.#disks(hotplugSocketName);
  }

  /** The places where the directory of a volume may be. In it the block device of the volume is the only device node. */
  volumeDirectories(volume: string): readonly PodPath[] {
    return this.#disks(volume);
  }

  containerDiskSocket(volume: string): PodPath {
    return {
      directory: emptyDir(this.uid, this.#layout.hotplugContainerDisks),
      entry: [hotplugContainerDiskSocketName(volume)],
    };
  }

  #disks(...entry: string[]): readonly PodPath[] {
    return this.#layout.attachmentDisks.map((name) => ({
      directory: emptyDir(this.uid, name),
      entry,
    }));
  }
}
