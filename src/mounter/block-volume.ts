import { chmodSync, chownSync, constants } from 'node:fs';
import { mknodat } from '../kernel/device-node.ts';
import type { ProcessHandle } from '../kernel/process-handle.ts';
import { type DeviceNumber, statx } from '../kernel/statx.ts';
import { hasCode, withPath } from '../kernel/syscall-error.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { WantedHotplugVolume } from '../kubevirt/wanted-volumes.ts';
import type { DeviceRule } from './devices/device-rule.ts';
import { findPodDevices } from './devices/find-pod-devices.ts';
import { openPodDevices } from './devices/open-pod-devices.ts';
import { type PodDevices, undoAfter } from './devices/pod-devices.ts';
import { parseRecordedDevice, recordedDevice } from './devices/recorded-device.ts';
import { type Host, openDirectory, openEntry } from './host.ts';
import { attachmentPod } from './image-artifacts.ts';
import { processBehind } from './image-process.ts';
import { podOf, type RecordEntry } from './mount-record.ts';
import { MounterError } from './mounter-error.ts';
import { namesIn } from './names-in.ts';
import type { Prepared } from './prepared.ts';
import { Target } from './target.ts';
import type { UnmountOutcome } from './unmount-place.ts';

/** Permissions of the device node: QEMU's uid and gid read and write it. */
const permissions = 0o660;

/**
 * The block device of a volume that an attachment pod has: a node of the same device for the launcher pod, and the
 * use of the device allowed in the cgroup that virt-launcher is in.
 *
 * @throws MounterError ENOTREADY, EDISK, ECGROUP
 */
export async function prepareBlockVolume(
  host: Host,
  pod: LauncherPod,
  wanted: WantedHotplugVolume,
): Promise<Prepared> {
  const { name } = wanted;
  const { device, source } = findDevice(host, wanted);
  const process = await processBehind(host, pod.launcherSocket);
  const rule: DeviceRule = { type: 'b', ...device };
  const number = `${device.major}:${device.minor}`;
  const place = pod.hotplugTarget(name);
  let devices: PodDevices | undefined;
  let recorded: Pick<RecordEntry, 'device' | 'cgroups'>;
  try {
    devices = findPodDevices(process, pod.uid);
    const missing = devices.has(rule) ? '' : devices.missing(rule);
    recorded = { device: recordedDevice(device, missing), cgroups: devices.directories };
  } catch (error) {
    devices?.[Symbol.dispose]();
    process[Symbol.dispose]();
    throw error;
  }
  const held = devices;
  return {
    kind: 'hotplugVolume',
    entry: { volume: name, type: 'device', place, ...recorded },
    make: async () => ({
      volume: name,
      kind: 'hotplugVolume',
      outcome: makeDevice(host, held, rule, place) ? 'mounted' : 'already mounted',
      source: `${source} (block ${number})`,
      pid: process.pid,
      target: host.text(place),
      disk: undefined,
    }),
    [Symbol.dispose]: () => {
      held[Symbol.dispose]();
      process[Symbol.dispose]();
    },
  };
}

/** The only device node in the directory that the attachment pod has for the volume. */
function findDevice(
  host: Host,
  wanted: WantedHotplugVolume,
): { device: DeviceNumber; source: string } {
  const places = attachmentPod(host, wanted).volumeDirectories(wanted.name);
  for (const place of places) {
    using emptyDir = host.openDirectory(place.directory);
    using directory = emptyDir && openDirectory(emptyDir, place.entry);
    if (directory === undefined) continue;
    const found = namesIn(directory).flatMap((name) => {
      using node = openEntry(directory, [name]);
      const status = node && statx(node.number);
      const isBlock = status && (status.mode & constants.S_IFMT) === constants.S_IFBLK;
      return isBlock ? { device: status.rdev, source: `${host.text(place)}/${name}` } : [];
    });
    const [only] = found;
    if (only !== undefined && found.length === 1) return only;
    throw new MounterError(
      found.length === 0 ? 'ENOTREADY' : 'EDISK',
      `${host.text(place)} has to hold exactly one block device, but has ${found.length}`,
    );
  }
  const looked = places.map((place) => host.text(place)).join(', ');
  throw new MounterError(
    'ENOTREADY',
    `no directory of the volume ${wanted.name}: looked for ${looked}`,
  );
}

/**
 * The rule in all cgroups, and the node; or, where one of them fails, none of those that were not there before.
 *
 * @returns whether anything had to be done
 */
function makeDevice(
  host: Host,
  devices: PodDevices,
  rule: DeviceRule,
  place: RecordEntry['place'],
): boolean {
  const allowed = devices.allow(rule);
  try {
    return makeNode(host, place, rule) || allowed.isNew;
  } catch (error) {
    undoAfter(error, rule, allowed.undo);
    throw error;
  }
}

/** @returns whether it was not there yet */
function makeNode(host: Host, place: RecordEntry['place'], device: DeviceNumber): boolean {
  using target = Target.open(host, place, true);
  if (target === undefined) {
    throw new MounterError('ENOTREADY', `the directory of ${host.text(place)} is not there`);
  }
  let isNew = false;
  try {
    mknodat(target.directory.number, target.name, constants.S_IFBLK | permissions, device);
    isNew = true;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw withPath(error, target.path);
  }
  const there = target.look();
  using node = there?.file;
  const status = there?.status;
  const isIt =
    status !== undefined &&
    (status.mode & constants.S_IFMT) === constants.S_IFBLK &&
    status.rdev.major === device.major &&
    status.rdev.minor === device.minor;
  if (node === undefined || !isIt) {
    throw new MounterError(
      'EHOSTILE',
      `cannot make the device ${target.path}: something else is there, and is left as it is`,
    );
  }
  const { uid, gid } = host.owner;
  // In this order: the mode of what is another user's only CAP_FOWNER may change.
  if ((status.mode & 0o7777) !== permissions) chmodSync(node.path, permissions);
  if (status.uid !== uid || status.gid !== gid) chownSync(node.path, uid, gid);
  return isNew;
}

/**
 * Withdraws the rule for a device and removes its node. Where virt-launcher has ended its cgroup went with it.
 *
 * @param isShared whether another volume of the pod is on the same device, and goes on to use it
 * @throws MounterError ECGROUP
 */
export async function removeDevice(
  host: Host,
  entry: RecordEntry,
  isShared: boolean,
): Promise<UnmountOutcome> {
  using target = Target.open(host, entry.place, false);
  const there = target?.look();
  using _node = there?.file;
  const isNode =
    there !== undefined && (there.status.mode & constants.S_IFMT) === constants.S_IFBLK;
  const rule =
    parseRecordedDevice(entry.device) ?? (isNode ? ruleOf(there.status.rdev) : undefined);
  if (rule && !isShared) await withdraw(host, entry, rule);
  if (isNode) await target?.remove(host, 'device');
  return isNode ? 'unmounted' : 'not mounted';
}

async function withdraw(host: Host, entry: RecordEntry, rule: DeviceRule): Promise<void> {
  if (entry.cgroups !== undefined) {
    using devices = openPodDevices(entry.cgroups);
    devices.withdraw(rule);
    return;
  }
  const pod = new LauncherPod(podOf(entry), host.layout);
  let process: ProcessHandle;
  try {
    process = await processBehind(host, pod.launcherSocket);
  } catch (error) {
    if (hasCode(error, 'ENOTREADY', 'EDEAD')) return;
    throw error;
  }
  using held = process;
  try {
    using devices = findPodDevices(held, pod.uid);
    devices.withdraw(rule);
  } catch (error) {
    if (!held.hasEnded) throw error;
  }
}

/** Of a device that no record tells of: what was put in front of programs is known, of lists nothing is. */
function ruleOf(device: DeviceNumber): DeviceRule {
  return { type: 'b', ...device, access: '' };
}

/** Whether the rule for a device is in force in the launcher pod. */
export async function ruleState(
  host: Host,
  pod: LauncherPod,
  device: DeviceNumber,
): Promise<'in force' | 'missing' | 'unknown'> {
  try {
    using process = await processBehind(host, pod.launcherSocket);
    using devices = findPodDevices(process, pod.uid);
    if (!devices.has({ type: 'b', ...device })) return 'missing';
    return devices.isDecidedAbove ? 'unknown' : 'in force';
  } catch (error) {
    if (error instanceof MounterError || hasCode(error, 'ESRCH')) return 'unknown';
    throw error;
  }
}
