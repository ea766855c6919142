import type { WantedVolume } from '../kubevirt/wanted-volumes.ts';
import type { Disk } from './disk/disk.ts';
import type { MountOutcome } from './mount-artifact.ts';
import type { RecordEntry } from './mount-record.ts';

/** What became of one thing that the VMI asks for. */
export type MountReport =
  | {
      readonly volume: string;
      readonly kind: WantedVolume['kind'];
      readonly outcome: MountOutcome;
      /** In the root of process `pid`; of a block device its `major:minor`. */
      readonly source: string;
      readonly pid: number;
      /** On the host. */
      readonly target: string;
      readonly disk: Disk | undefined;
    }
  | {
      readonly volume: string;
      readonly kind: WantedVolume['kind'];
      readonly outcome: 'failed';
      readonly error: Error;
    };

/** Something that is ready to be made: a mount, or a device node. */
export interface Prepared extends Disposable {
  readonly kind: WantedVolume['kind'];
  readonly entry: RecordEntry;
  /** @returns what it did */
  readonly make: () => Promise<MountReport>;
}
