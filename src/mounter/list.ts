import type { MountTable } from '../kernel/mount-table.ts';
import { statx } from '../kernel/statx.ts';
import { parseSocketName } from '../kubevirt/entry-names.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import { isUid } from '../kubevirt/names.ts';
import { emptyDir, podsDirectory } from '../kubevirt/pod-path.ts';
import { ruleState } from './block-volume.ts';
import { findMounted } from './find-mounted.ts';
import { type Host, openEntry } from './host.ts';
import { inspectOpened, type SocketReport } from './inspect.ts';
import { messageOf } from './mounter-error.ts';
import { namesIn } from './names-in.ts';

/** Pods that are looked at together: one in which nobody answers holds up few others. */
const podsAtOnce = 8;

/** Milliseconds that a socket may take to accept here, where one that does not is no failure. */
const patience = 500;

/** A pod has no more volumes than this; who makes more sockets does not fill the list. */
const mostSockets = 256;

/** A socket of a pod, and what it leads to. */
export interface ListedSocket extends SocketReport {
  /** uid of the pod that the socket is in. */
  readonly pod: string;
  /** `disk_<i>`, `kernel-boot`, `hp`, or the name of a hotplugged container disk. */
  readonly volume: string;
}

/** A volume that is hotplugged into a launcher pod. */
export interface ListedVolume {
  readonly pod: string;
  readonly volume: string;
  readonly type: 'file' | 'directory' | 'block';
  /** `major:minor` of a block device. */
  readonly device?: string;
  /** Of a block device: whether the pod's device cgroup lets QEMU use it. */
  readonly rule?: 'in force' | 'missing' | 'unknown';
  readonly target: string;
}

export interface Listing {
  readonly sockets: readonly ListedSocket[];
  readonly hotplugged: readonly ListedVolume[];
}

/** Every socket under the kubelet's directory with what it leads to, and every hotplugged volume. */
export async function list(host: Host, signal: AbortSignal | undefined): Promise<Listing> {
  const table = host.mountTable();
  const pods = podsOf(host);
  const sockets: ListedSocket[] = [];
  const hotplugged: ListedVolume[] = [];
  for (let first = 0; first < pods.length; first += podsAtOnce) {
    signal?.throwIfAborted();
    const some = pods.slice(first, first + podsAtOnce);
    const listings = await Promise.all(some.map((pod) => listPod(host, pod, table)));
    signal?.throwIfAborted();
    for (const listing of listings) {
      sockets.push(...listing.sockets);
      hotplugged.push(...listing.hotplugged);
    }
  }
  return { sockets, hotplugged };
}

/** A pod that cannot be looked at keeps no other from being listed. */
async function listPod(node: Host, pod: string, table: MountTable): Promise<Listing> {
  using host = node.again();
  try {
    const sockets = await socketsOf(host, pod, table);
    return { sockets, hotplugged: await hotpluggedInto(host, pod, table) };
  } catch (error) {
    const socket = host.text({ directory: [podsDirectory, pod], entry: [] });
    const about = { pod, volume: '', socket, mountedAt: [], reason: messageOf(error) };
    return { sockets: [about], hotplugged: [] };
  }
}

/** The uids of the pods that have a directory on the node. */
export function podsOf(host: Host): string[] {
  using pods = host.openPods();
  return namesIn(pods).filter(isUid).sort();
}

async function socketsOf(host: Host, pod: string, table: MountTable): Promise<ListedSocket[]> {
  const { containerDisks, attachmentDisks, hotplugContainerDisks } = host.layout;
  const found: ListedSocket[] = [];
  for (const name of new Set([containerDisks, ...attachmentDisks, hotplugContainerDisks])) {
    const components = emptyDir(pod, name);
    using directory = host.openDirectory(components);
    if (directory === undefined) continue;
    const entries = namesIn(directory)
      .filter((entry) => parseSocketName(entry) !== undefined)
      .sort(byNumber);
    const shown = entries.slice(0, mostSockets).map(async (entry) => {
      const socket = host.text({ directory: components, entry: [entry] });
      const about = { pod, volume: volumeOf(entry) };
      try {
        using opened = openEntry(directory, [entry]);
        const report = opened && (await inspectOpened(host, opened, socket, table, pod, patience));
        return report ? [{ ...about, ...report }] : [];
      } catch (error) {
        return [{ ...about, socket, mountedAt: [], reason: messageOf(error) }];
      }
    });
    found.push(...(await Promise.all(shown)).flat());
    if (entries.length > mostSockets) {
      const socket = host.text({ directory: components, entry: [] });
      const reason = `has ${entries.length} sockets, of which ${mostSockets} are shown`;
      found.push({ pod, volume: '', socket, mountedAt: [], reason });
    }
  }
  return found;
}

async function hotpluggedInto(host: Host, pod: string, table: MountTable): Promise<ListedVolume[]> {
  const launcher = new LauncherPod(pod, host.layout);
  const found = findMounted(host, pod, table).filter(
    ({ place }) => place.directory.at(-1) === host.layout.hotplugDisks,
  );
  const listed: ListedVolume[] = [];
  for (const { volume, type, place } of found) {
    const target = host.text(place);
    if (type !== 'device') {
      listed.push({ pod, volume, type, target });
      continue;
    }
    using directory = host.openDirectory(place.directory);
    using node = directory && openEntry(directory, place.entry);
    if (node === undefined) continue;
    const { rdev } = statx(node.number);
    const rule = await ruleState(host, launcher, rdev);
    listed.push({
      pod,
      volume,
      type: 'block',
      device: `${rdev.major}:${rdev.minor}`,
      rule,
      target,
    });
  }
  return listed;
}

function volumeOf(entry: string): string {
  return entry.replace(/\.sock$/, '').replace(/^hotplug-container-disk-/, '');
}

/** disk_2 before disk_10. */
function byNumber(a: string, b: string): number {
  const [x, y] = [a, b].map((name) => Number(/\d+/.exec(name)?.[0] ?? -1));
  return (x ?? 0) - (y ?? 0) || (a < b ? -1 : 1);
}
