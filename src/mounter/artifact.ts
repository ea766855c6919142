import type { Descriptor } from '../kernel/descriptor.ts';
import type { MountAttributes } from '../kernel/mount.ts';
import type { ProcessHandle } from '../kernel/process-handle.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import type { WantedVolume } from '../kubevirt/wanted-volumes.ts';
import type { Disk } from './disk/disk.ts';
import type { MountedFile } from './mounted-file.ts';
import type { TargetKind } from './target.ts';

/** One thing that is mounted for a volume: its source, open, and its place in the launcher pod. */
export interface Artifact extends Disposable {
  /** The volume's name, `kernel` or `initrd`. */
  readonly volume: string;
  readonly kind: WantedVolume['kind'];
  readonly type: TargetKind;
  readonly place: PodPath;
  /** What the source comes from, in messages. */
  readonly origin: string;
  /** The process in whose mount namespace the source is. */
  readonly process: ProcessHandle;
  /** Open with O_PATH. */
  readonly source: Descriptor;
  /** Which file the source is. */
  readonly identity: MountedFile;
  /** The path of the source in that process's root. */
  readonly sourcePath: string;
  readonly attributes: MountAttributes;
  /** What is known of a disk that comes from an image. */
  readonly disk: Disk | undefined;
}

/** Of an image: nothing of it can be changed, be a device or be executed. */
export const imageAttributes: MountAttributes = {
  readOnly: true,
  nosuid: true,
  nodev: true,
  noexec: true,
};

/** Of a persistent volume, which the virtual machine writes. */
export const volumeAttributes: MountAttributes = { ...imageAttributes, readOnly: false };
