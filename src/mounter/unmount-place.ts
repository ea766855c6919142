import { hasCode } from '../kernel/syscall-error.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import type { Host } from './host.ts';
import type { RecordEntry } from './mount-record.ts';
import { Target } from './target.ts';

/** What was done to a place. */
export type UnmountOutcome = 'unmounted' | 'not mounted';

/**
 * Takes away what is mounted at a place, and the empty file or directory under it. Where a pod has put a link or
 * something else in the way, nothing of ours is mounted at that place.
 */
export async function unmountPlace(
  host: Host,
  { place, type }: Pick<RecordEntry, 'place' | 'type'>,
): Promise<UnmountOutcome> {
  try {
    using target = Target.open(host, place, false);
    if (target === undefined) return 'not mounted';
    const count = await target.detach(host);
    target.remove(type);
    removeLevels(host, place);
    return count > 0 ? 'unmounted' : 'not mounted';
  } catch (error) {
    if (hasCode(error, 'EHOSTILE')) return 'not mounted';
    throw error;
  }
}

/** kernel-boot, once it is empty. */
function removeLevels(host: Host, { directory, entry }: PodPath): void {
  if (entry.length < 2) return;
  using level = Target.open(host, { directory, entry: entry.slice(0, -1) }, false);
  level?.remove('directory');
}
