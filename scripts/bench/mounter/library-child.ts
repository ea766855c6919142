import { accessSync } from 'node:fs';
import { readVirtualMachineInstances } from '../../../src/kubevirt/read-virtual-machine-instances.ts';
import type { VirtualMachineInstance } from '../../../src/kubevirt/virtual-machine-instance.ts';
import { Mounter } from '../../../src/mounter/mounter.ts';
import type { LibraryAnswer, LibraryRequest } from './library-process.ts';

/** The body of LibraryProcess: one mounter for each node. */

const mounters = new Map<string, Mounter>();

const outcomes = { mount: 'mounted', again: 'already mounted', unmount: 'unmounted' } as const;

function mounterOf({ options }: LibraryRequest): Mounter {
  const key = JSON.stringify(options);
  const mounter = mounters.get(key) ?? new Mounter(options);
  mounters.set(key, mounter);
  return mounter;
}

/** @returns how many were found done */
async function work(
  mounter: Mounter,
  verb: LibraryRequest['verb'],
  instances: readonly VirtualMachineInstance[],
): Promise<number> {
  if (verb === 'list') {
    const { sockets, hotplugged } = await mounter.list();
    return sockets.filter(({ reason }) => reason === undefined).length + hotplugged.length;
  }
  let done = 0;
  for (const instance of instances) {
    const reports =
      verb === 'unmount'
        ? await mounter.unmount(instance, { all: true })
        : await mounter.mount(instance);
    for (const report of reports) {
      if ('error' in report && report.error) throw report.error;
      if (report.outcome === outcomes[verb]) done += 1;
    }
  }
  return done;
}

/** For strace(1), which shows system calls that fail, too. */
function mark(text: string): void {
  try {
    accessSync(`/benchmark/${text}`);
  } catch {
    // There is no such file.
  }
}

async function answer(request: LibraryRequest): Promise<LibraryAnswer> {
  const mounter = mounterOf(request);
  const instances = request.manifests.flatMap((manifest) =>
    readVirtualMachineInstances(JSON.stringify(manifest), 'the benchmark'),
  );
  mark(`${request.verb}/begin`);
  const before = process.cpuUsage();
  const start = performance.now();
  const done = await work(mounter, request.verb, instances);
  const time = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  mark(`${request.verb}/end`);
  if (done !== request.expected) throw new Error(`${done} of ${request.expected} were done`);
  return { time, cpu: (user + system) / 1000 };
}

process.on('message', (request: LibraryRequest) => {
  answer(request).then(
    (found) => process.send?.(found),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.once('disconnect', () => {
  void Promise.all(Array.from(mounters.values(), (mounter) => mounter[Symbol.asyncDispose]()));
});
