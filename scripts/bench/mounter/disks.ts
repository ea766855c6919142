import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import type { Comparison, Contestant, Figure, Reading } from '../comparison.ts';
import { runOnce } from '../run-once.ts';
import { summarize } from '../statistics.ts';
import type { DiskNode } from './disk-node.ts';
import { type LibraryProcess, verbs } from './library-process.ts';

/** The programs beside the library. */
export interface MountPeers {
  readonly measure: string;
  readonly mountLoop: string;
}

export const library = 'library';
export const mountProgram = 'mount(8), umount(8)';
export const mountLoop = 'C loop';

/** So many disks are mounted at least for one figure: few are mounted several times. */
const leastDisks = 100;

/** A process for each of more disks would take minutes, and say nothing else. */
const mostProcesses = 100;

/** Microseconds per disk with so many disks on the node, by verb. */
export function figureId(verb: string, kind: 'time' | 'cpu', disks: number): string {
  return `${verb}-${kind}-${disks}`;
}

export function figures(counts: readonly number[]): Figure[] {
  return verbs.flatMap((verb) =>
    (['time', 'cpu'] as const).flatMap((kind) =>
      counts.map((count) => ({
        id: figureId(verb, kind, count),
        title: `${verb}, ${kind === 'cpu' ? 'CPU' : 'time'} per disk of ${count}`,
        unit: 'µs',
      })),
    ),
  );
}

/** Disks by the library, by a process for each, and by system calls alone. */
export function disks(
  nodes: readonly DiskNode[],
  process: LibraryProcess,
  peers: MountPeers,
): Comparison {
  const on = (measure: (node: DiskNode) => Reading | Promise<Reading>) => () =>
    severalTimes(nodes, measure);
  return {
    name: 'disks',
    figures: figures(nodes.map((node) => node.disks)),
    contestants: [
      { name: library, measure: on((node) => byLibrary(process, node)) },
      {
        name: mountProgram,
        measure: on((node) => (node.disks > mostProcesses ? {} : byPrograms(peers, node))),
      },
      { name: mountLoop, measure: on((node) => byLoop(peers, node)) },
    ] satisfies Contestant[],
    rounds: 7,
    warmUp: true,
  };
}

/** Measures on each node, on those with few disks several times. @returns medians */
export async function severalTimes<Node extends { readonly disks: number }>(
  nodes: readonly Node[],
  measure: (node: Node) => Reading | Promise<Reading>,
): Promise<Reading> {
  const found = new Map<string, number[]>();
  for (const node of nodes) {
    for (let done = 0; done < leastDisks; done += node.disks) {
      for (const [figure, value] of Object.entries(await measure(node))) {
        found.set(figure, [...(found.get(figure) ?? []), value]);
      }
    }
  }
  return Object.fromEntries(
    Array.from(found, ([figure, values]) => [figure, summarize(values).median]),
  );
}

export async function byLibrary(
  process: LibraryProcess,
  node: Pick<DiskNode, 'options' | 'manifests' | 'disks'>,
): Promise<Reading> {
  const reading: Record<string, number> = {};
  for (const verb of verbs) {
    const { options, manifests, disks: expected } = node;
    const { time, cpu } = await process.request({ verb, options, manifests, expected });
    reading[figureId(verb, 'time', expected)] = (time * 1000) / expected;
    reading[figureId(verb, 'cpu', expected)] = (cpu * 1000) / expected;
  }
  return reading;
}

/** The empty files that they are mounted on are made before, and not counted. */
function byPrograms({ measure }: MountPeers, node: DiskNode): Reading {
  const total = { mount: { time: 0, cpu: 0 }, unmount: { time: 0, cpu: 0 } };
  const run = (verb: keyof typeof total, ...command: string[]) => {
    const { time, cpu } = runOnce(measure, command);
    total[verb].time += time;
    total[verb].cpu += cpu;
  };
  for (const target of node.targets) {
    writeFileSync(target, '');
    run('mount', '/usr/bin/mount', '-o', 'bind,ro', node.visibleDisk, target);
  }
  for (const target of node.targets) {
    run('unmount', '/usr/bin/umount', target);
    rmSync(target);
  }
  const reading: Record<string, number> = {};
  for (const [verb, { time, cpu }] of Object.entries(total)) {
    reading[figureId(verb, 'time', node.disks)] = (time * 1000) / node.disks;
    reading[figureId(verb, 'cpu', node.disks)] = (cpu * 1000) / node.disks;
  }
  return reading;
}

function byLoop(peers: MountPeers, node: DiskNode): Reading {
  const [command, ...argv] = node.loopCommand(peers.mountLoop);
  const output = execFileSync(command, argv, { encoding: 'utf8' });
  const [mountCpu, mountTime, unmountCpu, unmountTime] = output
    .split(' ')
    .map((nanoseconds) => Number(nanoseconds) / 1000 / node.disks);
  return {
    [figureId('mount', 'cpu', node.disks)]: mountCpu ?? Number.NaN,
    [figureId('mount', 'time', node.disks)]: mountTime ?? Number.NaN,
    [figureId('unmount', 'cpu', node.disks)]: unmountCpu ?? Number.NaN,
    [figureId('unmount', 'time', node.disks)]: unmountTime ?? Number.NaN,
  };
}
