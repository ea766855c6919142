import type { Comparison } from '../comparison.ts';
import type { DiskNode } from './disk-node.ts';
import { byLibrary, figures, severalTimes } from './disks.ts';
import type { LibraryProcess } from './library-process.ts';
import { OtherMounts } from './other-mounts.ts';

/** Unrelated mounts on the host. */
const counts = [50, 500, 5000];

export function amongOthers(others: number): string {
  return `with ${others.toLocaleString('en-US')} mounts`;
}

/** Disks by the library on a host that has many mounts of its own. */
export function amongOtherMounts(nodes: readonly DiskNode[], process: LibraryProcess): Comparison {
  const [first] = nodes;
  if (first === undefined) throw new Error('there is no node');
  return {
    name: 'other-mounts',
    figures: figures(nodes.map(({ disks }) => disks)),
    contestants: counts.map((count) => ({
      name: amongOthers(count),
      measure: async () => {
        using _others = new OtherMounts(first.newDirectory(), count);
        return await severalTimes(nodes, (node) => byLibrary(process, node));
      },
    })),
    rounds: 5,
    warmUp: true,
  };
}
