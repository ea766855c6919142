import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import type { VirtualMachineInstance } from '../kubevirt/virtual-machine-instance.ts';
import { wantedVolumes } from '../kubevirt/wanted-volumes.ts';
import { isBlock } from './artifacts-of.ts';
import { removeDevice } from './block-volume.ts';
import { sharedDevice } from './devices/recorded-device.ts';
import { findMounted } from './find-mounted.ts';
import { groups } from './groups.ts';
import { hasNothingElse } from './has-nothing-else.ts';
import type { Host } from './host.ts';
import { entryKey, type MountRecord, podOf, type RecordEntry } from './mount-record.ts';
import { MounterError, reasonOf } from './mounter-error.ts';
import type { RunContext } from './run-context.ts';
import { type UnmountOutcome, unmountPlace } from './unmount-place.ts';

/** What became of one place. */
export interface UnmountReport {
  readonly volume: string;
  readonly target: string;
  readonly outcome: UnmountOutcome | 'failed';
  readonly error?: Error;
}

export interface UnmountOptions {
  /** Everything of the virtual machine, not only what its spec no longer has. */
  readonly all?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes away what is recorded or found mounted for a VMI and is no longer in its spec. One failure never keeps the
 * others from being tried. The record goes with the last of it.
 *
 * @throws MounterError ERECORD where the record cannot be read or brought up to date
 */
export async function unmountVirtualMachine(
  context: RunContext,
  instance: VirtualMachineInstance,
  { all = false, signal }: UnmountOptions,
): Promise<UnmountReport[]> {
  using _lock = await lockOrGoOn(context, instance.uid, signal);
  const record = context.records.load(instance.uid);
  const entries = withoutOthers(
    context,
    instance.uid,
    record,
    knownEntries(context.host, record, instance.activePods.keys()),
  );
  const kept = all ? new Set<string>() : wantedPlaces(context.host, instance);
  const obsolete = entries.filter((entry) => !kept.has(entryKey(entry)));
  return await takeAway(context, record, obsolete, signal);
}

/** Takes entries away, and them alone out of the record. */
export async function takeAway(
  context: RunContext,
  record: MountRecord | undefined,
  obsolete: readonly RecordEntry[],
  signal: AbortSignal | undefined,
): Promise<UnmountReport[]> {
  const reports: UnmountReport[] = [];
  const left = new Map(record?.entries.map((entry) => [entryKey(entry), entry]));
  try {
    for (const some of groups(obsolete, groupKey)) {
      signal?.throwIfAborted();
      const entries = some.map((found) => left.get(entryKey(found)) ?? found);
      const taken = await Promise.all(
        entries.map(async (entry) => {
          const heir = heirOf(entry, left);
          return {
            entry,
            heir,
            report: await takeOneAway(context.host, entry, heir !== undefined),
          };
        }),
      );
      for (const { entry, heir, report } of taken) {
        const key = entryKey(entry);
        if (report.outcome !== 'not mounted' || left.has(key)) reports.push(report);
        if (report.outcome === 'failed') continue;
        left.delete(key);
        if (heir) left.set(entryKey(heir), heir);
      }
    }
  } finally {
    if (record) updateRecord(context, record, [...left.values()], reports);
  }
  return reports;
}

/** Devices one after another, as one can be the heir of the next; and so what is below one name, in its order. */
function groupKey({ type, place: { directory, entry } }: RecordEntry): string {
  return type === 'device' ? 'device' : [...directory, entry[0]].join('/');
}

/**
 * Another volume of the pod on the same device, with what has to be withdrawn when it is taken away itself: the rule
 * stays in force as long as one of them is there.
 */
function heirOf(
  entry: RecordEntry,
  left: ReadonlyMap<string, RecordEntry>,
): RecordEntry | undefined {
  if (entry.device === undefined) return undefined;
  for (const [key, other] of left) {
    if (key === entryKey(entry) || podOf(other) !== podOf(entry)) continue;
    const device = sharedDevice(entry.device, other.device);
    if (device !== undefined) return { ...other, device };
  }
  return undefined;
}

async function takeOneAway(
  host: Host,
  entry: RecordEntry,
  isShared: boolean,
): Promise<UnmountReport> {
  const about = { volume: entry.volume, target: host.text(entry.place) };
  try {
    const { type, place } = entry;
    const outcome = await (type === 'device'
      ? removeDevice(host, entry, isShared)
      : unmountPlace(host, place, type));
    return { ...about, outcome };
  } catch (error) {
    const reason = reasonOf(error);
    return { ...about, outcome: 'failed', error: reason };
  }
}

/** Where it cannot be written, what was done is in the log: nobody gets the reports then. */
function updateRecord(
  { records, tell }: RunContext,
  record: MountRecord,
  entries: readonly RecordEntry[],
  reports: readonly UnmountReport[],
): void {
  try {
    if (entries.length === 0) records.remove(record.uid);
    else if (JSON.stringify(entries) !== JSON.stringify(record.entries)) {
      records.save({ ...record, entries });
    }
  } catch (error) {
    for (const { volume, target, outcome, error: failure } of reports) {
      const why = failure === undefined ? '' : `: ${failure.message}`;
      tell({ level: 'warn', volume, message: `${outcome} ${target}${why}` });
    }
    throw error;
  }
}

/** From the record, and by looking into the pods that it and status name: a record may be lost. */
function knownEntries(
  host: Host,
  record: MountRecord | undefined,
  activePods: Iterable<string>,
): RecordEntry[] {
  const recorded = record?.entries ?? [];
  const pods = new Set([...activePods, ...recorded.map(podOf)]);
  const unknown = [...pods].filter((pod) => !hasNothingElse(host, pod, recorded));
  const entries = new Map<string, RecordEntry>();
  const table = unknown.length > 0 ? host.mountTable() : undefined;
  for (const pod of unknown) {
    for (const found of findMounted(host, pod, table)) entries.set(entryKey(found), found);
  }
  for (const entry of recorded) entries.set(entryKey(entry), entry);
  return [...entries.values()];
}

/**
 * Without what the record of another virtual machine has: whoever writes a VMI chooses the pods that its status names.
 * Only what no record of its own tells of can be another's.
 */
function withoutOthers(
  { records }: RunContext,
  uid: string,
  record: MountRecord | undefined,
  entries: readonly RecordEntry[],
): readonly RecordEntry[] {
  const own = new Set(record?.entries.map(entryKey));
  if (entries.every((entry) => own.has(entryKey(entry)))) return entries;
  const others = new Set(
    records
      .uids()
      .filter((other) => other !== uid)
      .flatMap((other) => records.load(other)?.entries.map(entryKey) ?? []),
  );
  return entries.filter((entry) => own.has(entryKey(entry)) || !others.has(entryKey(entry)));
}

/** The places that the spec still asks for, in each of the active pods. */
function wantedPlaces(host: Host, instance: VirtualMachineInstance): Set<string> {
  const keys = new Set<string>();
  const add = ({ directory, entry }: PodPath) => keys.add([...directory, ...entry].join('/'));
  for (const [uid, node] of instance.activePods) {
    const pod = new LauncherPod(uid, host.layout);
    for (const wanted of wantedVolumes(instance, { node: node === '' ? undefined : node })) {
      if (wanted.kind === 'containerDisk') add(pod.containerDiskTarget(wanted.index));
      else if (wanted.kind === 'hotplugContainerDisk') add(pod.hotplugImage(wanted.name));
      else if (wanted.kind === 'kernelBoot') {
        for (const path of [wanted.kernelPath, wanted.initrdPath]) {
          if (path !== undefined) add(pod.kernelBootTarget(path));
        }
      } else if (isBlock(wanted) || wanted.directory) add(pod.hotplugTarget(wanted.name));
      else add(pod.hotplugImage(wanted.name));
    }
  }
  return keys;
}

/** What is mounted has to go away also where no lock can be written: on a full or read-only file system. */
async function lockOrGoOn(
  { records, tell }: RunContext,
  uid: string,
  signal: AbortSignal | undefined,
): Promise<Disposable> {
  try {
    return await records.lock(uid, signal);
  } catch (error) {
    if (!(error instanceof MounterError)) throw error;
    tell({ level: 'warn', message: `${error.message}; unmounting without it` });
    return { [Symbol.dispose]: () => {} };
  }
}
