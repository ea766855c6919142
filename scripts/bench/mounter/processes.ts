import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Comparison, Reading } from '../comparison.ts';
import { officialNode } from '../official-program.ts';
import { runOnce } from '../run-once.ts';
import type { DiskNode } from './disk-node.ts';
import type { MountPeers } from './disks.ts';

const command = join(import.meta.dirname, '../../../dist/mounter/bin/container-disk-mounter.js');

/** The command for one disk, from its start to its end, beside the programs that it stands for. */
export function processes(node: DiskNode, { measure }: MountPeers): Comparison {
  if (!existsSync(command)) {
    throw new Error(`${command} is missing: npm run build:library comes first`);
  }
  const manifest = node.file('vmi.json');
  writeFileSync(manifest, JSON.stringify(node.manifests[0]));
  const mounter = (...argv: string[]) => [officialNode, command, ...argv, ...node.arguments];
  const mount = mounter('mount', '-f', manifest);
  const unmount = mounter('unmount', '-f', manifest, '--all');
  const reading = (argv: readonly string[]): Reading => {
    const { cpu, time } = runOnce(measure, argv);
    return { 'process-cpu': cpu, 'process-time': time };
  };
  /** Measures a command between two others. */
  const between = (before: string[][], measured: string[], after: string[][]) => () => {
    for (const argv of before) runOnce(measure, argv);
    const found = reading(measured);
    for (const argv of after) runOnce(measure, argv);
    return found;
  };
  const [target = ''] = node.targets;
  return {
    name: 'process',
    figures: [
      { id: 'process-cpu', title: 'CPU of the whole process', unit: 'ms' },
      { id: 'process-time', title: 'time of the whole process', unit: 'ms' },
    ],
    contestants: [
      { name: 'node -e 0', measure: () => reading([officialNode, '-e', '0']) },
      { name: '--version', measure: () => reading([officialNode, command, '--version']) },
      { name: 'mount', measure: between([], mount, [unmount]) },
      { name: 'mount again', measure: between([mount], mount, [unmount]) },
      { name: 'list', measure: between([mount], mounter('list'), [unmount]) },
      { name: 'unmount', measure: between([mount], unmount, []) },
      {
        name: 'mount(8)',
        measure: () => {
          writeFileSync(target, '');
          const bind = ['/usr/bin/mount', '-o', 'bind,ro', node.visibleDisk, target];
          const found = between([], bind, [['/usr/bin/umount', target]])();
          rmSync(target);
          return found;
        },
      },
    ],
    rounds: 11,
    warmUp: true,
  };
}
