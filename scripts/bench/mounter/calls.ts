import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import type { Comparison, Reading } from '../comparison.ts';
import type { DiskNode } from './disk-node.ts';
import { library, type MountPeers, mountLoop, mountProgram } from './disks.ts';
import { LibraryProcess, verbs } from './library-process.ts';
import { straceCommand, tracedCalls } from './traced-calls.ts';

/** System calls per disk, by strace(1); what is measured elsewhere is measured without it. */
export function calls(node: DiskNode, peers: MountPeers): Comparison {
  return {
    name: 'calls',
    figures: verbs.map((verb) => ({
      id: `${verb}-calls`,
      title: `${verb}, system calls per disk of ${node.disks}`,
      unit: '',
    })),
    contestants: [
      { name: library, measure: () => ofLibrary(node) },
      { name: mountProgram, measure: () => ofPrograms(node) },
      { name: mountLoop, measure: () => ofLoop(node, peers) },
    ],
    rounds: 1,
    warmUp: false,
  };
}

/** The second time, when its threads have started. */
async function ofLibrary(node: DiskNode): Promise<Reading> {
  const trace = node.file('trace');
  const { options, manifests, disks: expected } = node;
  {
    await using process = new LibraryProcess(straceCommand(trace));
    for (const verb of [...verbs, ...verbs]) {
      await process.request({ verb, options, manifests, expected });
    }
  }
  return perDisk(node, verbs, (verb) => tracedCalls(trace, verb));
}

/** A process each, from its start to its end. */
function ofPrograms(node: DiskNode): Reading {
  const [target = ''] = node.targets;
  const count = (verb: string, ...command: string[]) => {
    const trace = node.file('trace');
    const [strace = '', ...argv] = [...straceCommand(trace), ...command];
    execFileSync(strace, argv);
    return { [`${verb}-calls`]: tracedCalls(trace).length };
  };
  writeFileSync(target, '');
  try {
    return {
      ...count('mount', 'mount', '-o', 'bind,ro', node.visibleDisk, target),
      ...count('unmount', 'umount', target),
    };
  } finally {
    rmSync(target);
  }
}

function ofLoop(node: DiskNode, peers: MountPeers): Reading {
  const trace = node.file('trace');
  const [strace = '', ...argv] = [...straceCommand(trace), ...node.loopCommand(peers.mountLoop)];
  execFileSync(strace, argv);
  return perDisk(node, ['mount', 'unmount'], (verb) => tracedCalls(trace, verb));
}

function perDisk<Verb extends string>(
  node: DiskNode,
  of: readonly Verb[],
  traced: (verb: Verb) => readonly string[],
): Reading {
  return Object.fromEntries(of.map((verb) => [`${verb}-calls`, traced(verb).length / node.disks]));
}
