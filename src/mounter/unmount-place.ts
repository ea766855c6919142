import { hasCode } from '../kernel/syscall-error.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import type { Host } from './host.ts';
import { clearStage } from './stage.ts';
import { Target, type TargetKind } from './target.ts';

/** What was done to a place. */
export type UnmountOutcome = 'unmounted' | 'not mounted';

/** Takes away what is mounted at a place, and the empty file or directory under it. */
export async function unmountPlace(
  host: Host,
  place: PodPath,
  type: TargetKind,
): Promise<UnmountOutcome> {
  await clearStage(host, place);
  using target = openTarget(host, place);
  if (target === undefined) return 'not mounted';
  const count = await target.clear(host, type);
  await removeLevels(host, place);
  return count > 0 ? 'unmounted' : 'not mounted';
}

/** kernel-boot, once it is empty. */
async function removeLevels(host: Host, { directory, entry }: PodPath): Promise<void> {
  if (entry.length < 2) return;
  using level = openTarget(host, { directory, entry: entry.slice(0, -1) });
  await level?.remove(host, 'directory');
}

/** Where a tenant has put a link or a file on the way, nothing is mounted at this place; it may be at another. */
function openTarget(host: Host, place: PodPath): Target | undefined {
  try {
    return Target.open(host, place, false);
  } catch (error) {
    if (hasCode(error, 'EHOSTILE')) return undefined;
    throw error;
  }
}
