import type { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { WantedHotplugVolume } from '../kubevirt/wanted-volumes.ts';
import type { Host } from './host.ts';
import type { RecordEntry } from './mount-record.ts';
import type { Prepared } from './mount-virtual-machine.ts';
import { MounterError } from './mounter-error.ts';
import { type UnmountOutcome, unmountPlace } from './unmount-place.ts';

/** A block device of an attachment pod. */
export const BlockVolume = {
  prepare(_host: Host, _pod: LauncherPod, { name }: WantedHotplugVolume): Promise<Prepared> {
    throw new MounterError('EUNSUPPORTED', `the block volume ${name} cannot be hotplugged yet`);
  },
};

export async function removeDevice(host: Host, entry: RecordEntry): Promise<UnmountOutcome> {
  return unmountPlace(host, entry);
}
