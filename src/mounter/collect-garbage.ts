import { join } from 'node:path';
import { hasCode } from '../kernel/syscall-error.ts';
import { parseSocketName } from '../kubevirt/entry-names.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import { podsDirectory } from '../kubevirt/pod-path.ts';
import { findMounted } from './find-mounted.ts';
import type { Host } from './host.ts';
import { processBehind } from './image-process.ts';
import { podsOf } from './list.ts';
import { podOf } from './mount-record.ts';
import { reasonOf } from './mounter-error.ts';
import { namesIn } from './names-in.ts';
import type { RunContext } from './run-context.ts';
import { clearStages } from './stage.ts';
import { takeAway, type UnmountReport } from './unmount-virtual-machine.ts';

/**
 * Takes away the records and the mounts of pods that are gone, and what killed runs have left. What fails for one
 * pod or record is reported, and keeps no other from its turn.
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
  const gone = new Map<string, Promise<boolean>>();
  const isGone = (pod: string) => {
    const known = gone.get(pod) ?? isPodGone(host, pod);
    gone.set(pod, known);
    return known;
  };
  const attempt = async (target: string, collect: () => Promise<UnmountReport[]>) => {
    signal?.throwIfAborted();
    try {
      reports.push(...(await collect()));
    } catch (error) {
      signal?.throwIfAborted();
      const reason = reasonOf(error);
      reports.push({ volume: '', target, outcome: 'failed', error: reason });
    }
  };
  for (const uid of records.uids()) {
    await attempt(join(records.directory, uid), async () => {
      using _lock = await records.lock(uid, signal);
      const record = records.load(uid);
      if (record === undefined) return [];
      const pods = await Promise.all([...new Set(record.entries.map(podOf))].map(isGone));
      if (!pods.every(Boolean)) return [];
      using its = host.again();
      return await takeAway({ ...context, host: its }, record, record.entries, signal);
    });
  }
  const table = host.mountTable();
  for (const pod of podsOf(host)) {
    await attempt(host.text({ directory: [podsDirectory, pod], entry: [] }), async () => {
      using its = host.again();
      const mounted = findMounted(its, pod, table);
      if (mounted.length === 0 || !(await isGone(pod))) return [];
      return await takeAway({ ...context, host: its }, undefined, mounted, signal);
    });
  }
  records.sweep();
  await attempt(join(host.stateDirectory, 'stage'), async () => {
    await clearStages(host, isGone);
    return [];
  });
  return reports;
}

/** A socket that cannot be told to be without a listener has one: what is in use must not be taken away. */
async function isPodGone(node: Host, pod: string): Promise<boolean> {
  using host = node.again();
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
      if (!hasCode(error, 'ENOTREADY', 'EDEAD', 'EHOSTILE')) return false;
    }
  }
  return true;
}
