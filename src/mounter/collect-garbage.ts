import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../kernel/syscall-error.ts';
import { parseSocketName } from '../kubevirt/entry-names.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { Host } from './host.ts';
import { processBehind } from './image-process.ts';
import { podsOf } from './list.ts';
import { podOf } from './mount-record.ts';
import { namesIn } from './names-in.ts';
import type { RunContext } from './run-context.ts';
import { knownEntries, takeAway, type UnmountReport } from './unmount-virtual-machine.ts';

/**
 * Takes away the records and the mounts of pods that are gone, and what killed runs have left.
 *
 * A pod is gone where it has no directory any more, or where nobody listens on any of its sockets: neither
 * virt-launcher nor one of the sidecars. Its mounts are then what the kubelet finds "device or resource busy".
 */
export async function collectGarbage(
  context: RunContext,
  signal: AbortSignal | undefined,
): Promise<UnmountReport[]> {
  const { host, records } = context;
  const reports: UnmountReport[] = [];
  const gone = new Map<string, boolean>();
  const isGone = async (pod: string) => {
    const known = gone.get(pod) ?? (await isPodGone(host, pod));
    gone.set(pod, known);
    return known;
  };
  for (const uid of records.uids()) {
    signal?.throwIfAborted();
    using _lock = await records.lock(uid, signal);
    const record = records.load(uid);
    if (record === undefined) continue;
    const pods = await Promise.all([...new Set(record.entries.map(podOf))].map(isGone));
    if (!pods.every(Boolean)) continue;
    const entries = knownEntries(host, record, [], true);
    reports.push(...(await takeAway(context, record, entries, signal)));
  }
  for (const pod of podsOf(host)) {
    signal?.throwIfAborted();
    const mounted = knownEntries(host, undefined, [pod], true);
    if (mounted.length === 0 || !(await isGone(pod))) continue;
    reports.push(...(await takeAway(context, undefined, mounted, signal)));
  }
  await records.sweep();
  rmSync(join(host.stateDirectory, 'stage'), { recursive: true, force: true });
  return reports;
}

async function isPodGone(host: Host, pod: string): Promise<boolean> {
  const launcher = new LauncherPod(pod, host.layout);
  const { containerDisks, launcherSocket } = launcher;
  using directory = host.openDirectory(containerDisks.directory);
  const sockets = (directory ? namesIn(directory) : [])
    .filter((name) => parseSocketName(name) !== undefined)
    .map((name) => ({ directory: containerDisks.directory, entry: [name] }));
  for (const socket of [launcherSocket, ...sockets]) {
    try {
      using _process = await processBehind(host, socket);
      return false;
    } catch (error) {
      if (!hasCode(error, 'ENOTREADY', 'EDEAD', 'EHOSTILE')) throw error;
    }
  }
  return true;
}
