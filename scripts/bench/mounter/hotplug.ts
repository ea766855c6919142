import type { Comparison } from '../comparison.ts';
import { amongOthers } from './among-others.ts';
import { byLibrary, figures, severalTimes } from './disks.ts';
import type { HotplugNode } from './hotplug-node.ts';
import type { LibraryProcess } from './library-process.ts';
import { OtherMounts } from './other-mounts.ts';

/** Block devices into a running virtual machine: a node of each, and its rule in the pod's device cgroup. */
export function hotplug(nodes: readonly HotplugNode[], process: LibraryProcess): Comparison {
  const [first] = nodes;
  if (first === undefined) throw new Error('there is no node');
  return {
    name: 'hotplug',
    figures: figures(nodes.map(({ disks }) => disks)),
    contestants: [50, 5000].map((count) => ({
      name: amongOthers(count),
      measure: async () => {
        using _others = new OtherMounts(first.newDirectory(), count);
        return await severalTimes(nodes, (node) => byLibrary(process, node));
      },
    })),
    rounds: 7,
    warmUp: true,
  };
}
