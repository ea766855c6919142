import type { Comparison } from '../comparison.ts';
import { byLibrary, figures, library, severalTimes } from './disks.ts';
import type { HotplugNode } from './hotplug-node.ts';
import type { LibraryProcess } from './library-process.ts';

/** Block devices into a running virtual machine: a node of each, and its rule in the pod's device cgroup. */
export function hotplug(nodes: readonly HotplugNode[], process: LibraryProcess): Comparison {
  return {
    name: 'hotplug',
    figures: figures(nodes.map(({ disks }) => disks)),
    contestants: [
      {
        name: `${library}, block devices`,
        measure: () => severalTimes(nodes, (node) => byLibrary(process, node)),
      },
    ],
    rounds: 7,
    warmUp: true,
  };
}
