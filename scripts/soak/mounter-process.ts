/** A process with the library in it, which does what it is told over its channel until it is disconnected or killed. */
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import type { VirtualMachineInstance } from '../../src/kubevirt/virtual-machine-instance.ts';
import { Mounter, type MounterOptions } from '../../src/mounter/mounter.ts';
import { openFiles } from './open-files.ts';

export interface Task {
  readonly verb: 'mount' | 'unmount' | 'unmount all' | 'list' | 'gc' | 'checksum';
  /** A VMI as JSON. */
  readonly manifest: string;
}

/** What a process uses, in bytes after a collection of garbage, and how many files it has open. */
export interface Usage {
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  readonly descriptors: number;
}

export interface Answer {
  /** `<outcome>`, or `failed <code>: <message>`, of each volume. */
  readonly outcomes: readonly string[];
  readonly usage: Usage;
}

const mounter = new Mounter(JSON.parse(process.argv[2] ?? '{}') as MounterOptions);

function usage(): Usage {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed, external, descriptors: openFiles().length };
}

async function run({ verb, manifest }: Task): Promise<string[]> {
  const [instance] = readVirtualMachineInstances(manifest, 'soak');
  if (instance === undefined) throw new Error('no VMI was given');
  try {
    return (await reports(verb, instance)).map(textOf);
  } catch (error) {
    return [textOf({ outcome: 'failed', error })];
  }
}

async function reports(
  verb: Task['verb'],
  instance: VirtualMachineInstance,
): Promise<readonly object[]> {
  switch (verb) {
    case 'mount':
      return mounter.mount(instance);
    case 'unmount':
      return mounter.unmount(instance);
    case 'unmount all':
      return mounter.unmount(instance, { all: true });
    case 'checksum':
      return mounter.checksum(instance);
    case 'gc':
      return mounter.gc();
    case 'list':
      return (await mounter.list()).sockets;
  }
}

function textOf(report: { readonly outcome?: unknown; readonly error?: unknown }): string {
  const { outcome, error } = report;
  if (error === undefined) return String(outcome ?? 'done');
  const code = error instanceof Error && 'code' in error ? error.code : 'no code';
  return `failed ${code}: ${error instanceof Error ? error.message : error}`;
}

process.on('message', async (task: Task) => {
  const outcomes = await run(task);
  process.send?.({ outcomes, usage: usage() } satisfies Answer);
});
process.once('disconnect', async () => {
  await mounter[Symbol.asyncDispose]();
  process.exit(0);
});
