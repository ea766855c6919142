import { isUid } from '../kubevirt/names.ts';
import { printable } from '../kubevirt/printable.ts';
import type { VirtualMachineInstance } from '../kubevirt/virtual-machine-instance.ts';
import { type WantedVolume, wantedVolumes } from '../kubevirt/wanted-volumes.ts';
import type { Artifact } from './artifact.ts';
import { artifactsOf, isBlock, volumeName } from './artifacts-of.ts';
import { prepareBlockVolume } from './block-volume.ts';
import { sharedDevice } from './devices/recorded-device.ts';
import { groups } from './groups.ts';
import { type Launcher, launcherOf } from './launcher-of.ts';
import { mountArtifact, mountedAt, refuseOther } from './mount-artifact.ts';
import { entryKey, type MountRecord, type RecordEntry, recordVersion } from './mount-record.ts';
import { MounterError, reasonOf } from './mounter-error.ts';
import type { MountReport, Prepared } from './prepared.ts';
import type { RunContext } from './run-context.ts';

export interface MountOptions {
  /** uid of the attachment pod to mount hotplugged volumes from, whatever status says. */
  readonly sourcePod?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Mounts all that a VMI asks for on this node, and gives the rest its reasons: one volume that fails keeps no
 * other from being mounted.
 *
 * What will be made is written down before the first of it is made.
 *
 * @throws MounterError ENOTREADY where there is no launcher pod, ERECORD where nothing can be written down,
 *   EUNSUPPORTED where `sourcePod` is no uid
 */
export async function mountVirtualMachine(
  context: RunContext,
  instance: VirtualMachineInstance,
  { sourcePod, signal }: MountOptions,
): Promise<MountReport[]> {
  const { host, records } = context;
  if (sourcePod !== undefined && !isUid(sourcePod)) {
    throw new MounterError('EUNSUPPORTED', `${printable(sourcePod)} is not the uid of a pod`);
  }
  host.startThreads();
  using _lock = await records.lock(instance.uid, signal);
  const launcher = launcherOf(host, instance);
  const wanted = wantedVolumes(instance, { node: launcher.node, attachPodUID: sourcePod });
  const record = records.load(instance.uid);
  const reports: MountReport[] = [];
  const prepared: Prepared[] = [];
  try {
    for (const some of groups(wanted)) {
      signal?.throwIfAborted();
      const settled = await Promise.allSettled(
        some.map((volume) => prepare(context, launcher, volume, record)),
      );
      settled.forEach((each, index) => {
        const volume = some[index];
        if (each.status === 'fulfilled') prepared.push(...each.value);
        else if (volume) reports.push(failed(volumeName(volume), volume.kind, each.reason));
      });
    }
    if (prepared.length > 0) writeDown(context, instance, prepared, record);
    for (const some of groups(prepared, ({ entry }) => entryKey(entry))) {
      signal?.throwIfAborted();
      reports.push(...(await Promise.all(some.map(makeOrFail))));
    }
    return reports;
  } finally {
    for (const each of prepared) each[Symbol.dispose]();
  }
}

async function makeOrFail({ kind, entry, make }: Prepared): Promise<MountReport> {
  try {
    return await make();
  } catch (error) {
    return failed(entry.volume, kind, error);
  }
}

async function prepare(
  context: RunContext,
  { pod }: Launcher,
  wanted: WantedVolume,
  record: MountRecord | undefined,
): Promise<Prepared[]> {
  if (wanted.kind === 'hotplugVolume' && isBlock(wanted)) {
    return [await prepareBlockVolume(context.host, pod, wanted)];
  }
  const artifacts = await artifactsOf(context.host, pod, wanted);
  try {
    return artifacts.map((artifact) => preparedMount(context, artifact, record));
  } catch (error) {
    for (const artifact of artifacts) artifact[Symbol.dispose]();
    throw error;
  }
}

/** What is mounted already stays recorded as the file that it is, which need not be the artifact's. */
function preparedMount(
  { host }: RunContext,
  artifact: Artifact,
  record: MountRecord | undefined,
): Prepared {
  const { kind, volume, type, place, process, sourcePath, identity, disk } = artifact;
  const entry = { volume, type, place, source: identity };
  const earlier = record?.entries.find((each) => entryKey(each) === entryKey(entry))?.source;
  const mounted = mountedAt(host, artifact);
  if (mounted) refuseOther(host, artifact, mounted, earlier);
  return {
    kind,
    entry: { ...entry, source: mounted ?? entry.source },
    make: async () => {
      const outcome = await mountArtifact(host, artifact, mounted);
      const { pid } = process;
      return { volume, kind, outcome, source: sourcePath, pid, target: host.text(place), disk };
    },
    [Symbol.dispose]: () => artifact[Symbol.dispose](),
  };
}

/** The record has every entry that it had: what is mounted stays known until it is unmounted. */
function writeDown(
  { records }: RunContext,
  { namespace, name, uid }: VirtualMachineInstance,
  prepared: readonly Prepared[],
  before: MountRecord | undefined,
): void {
  const entries = new Map(before?.entries.map((entry) => [entryKey(entry), entry]));
  let isNew = before === undefined;
  for (const { entry: found } of prepared) {
    const key = entryKey(found);
    const known = entries.get(key);
    const entry = withKnownRule(found, known);
    if (JSON.stringify(known) === JSON.stringify(entry)) continue;
    entries.set(key, entry);
    isNew = true;
  }
  if (!isNew) return;
  const record: MountRecord = {
    version: recordVersion,
    namespace,
    name,
    uid,
    entries: [...entries.values()],
  };
  records.save(record);
}

/** What was missing of a rule the first time is ours still, as long as it is in the same cgroups. */
function withKnownRule(entry: RecordEntry, known: RecordEntry | undefined): RecordEntry {
  if (String(known?.cgroups) !== String(entry.cgroups)) return entry;
  const device = sharedDevice(known?.device, entry.device);
  return device === undefined ? entry : { ...entry, device };
}

function failed(volume: string, kind: WantedVolume['kind'], error: unknown): MountReport {
  const reason = reasonOf(error);
  return { volume, kind, outcome: 'failed', error: reason };
}
