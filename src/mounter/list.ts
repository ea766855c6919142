import type { MountinfoEntry } from '../kernel/mountinfo.ts';
import { statx } from '../kernel/statx.ts';
import { parseSocketName } from '../kubevirt/entry-names.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import { isUid } from '../kubevirt/names.ts';
import { emptyDir } from '../kubevirt/pod-path.ts';
import { ruleState } from './block-volume.ts';
import { findMounted } from './find-mounted.ts';
import { type Host, openEntry } from './host.ts';
import { inspectOpened, type SocketReport } from './inspect.ts';
import { messageOf } from './mounter-error.ts';
import { namesIn } from './names-in.ts';

/** How many sockets of a directory are looked at at once: those that never accept are waited for together. */
const atOnce = 64;

/** Milliseconds that a socket may take to accept here, where one that does not is no failure. */
const patience = 500;

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
  const sockets: ListedSocket[] = [];
  const hotplugged: ListedVolume[] = [];
  for (const pod of podsOf(host)) {
    signal?.throwIfAborted();
    sockets.push(...(await socketsOf(host, pod, table, signal)));
    hotplugged.push(...(await hotpluggedInto(host, pod, table)));
  }
  return { sockets, hotplugged };
}

/** The uids of the pods that have a directory on the node. */
export function podsOf(host: Host): string[] {
  using pods = host.openPods();
  return namesIn(pods).filter(isUid).sort();
}

async function socketsOf(
  host: Host,
  pod: string,
  table: readonly MountinfoEntry[],
  signal: AbortSignal | undefined,
): Promise<ListedSocket[]> {
  const { containerDisks, attachmentDisks, hotplugContainerDisks } = host.layout;
  const found: ListedSocket[] = [];
  for (const name of new Set([containerDisks, ...attachmentDisks, hotplugContainerDisks])) {
    const components = emptyDir(pod, name);
    using directory = host.openDirectory(components);
    if (directory === undefined) continue;
    const names = namesIn(directory).filter((entry) => parseSocketName(entry) !== undefined);
    const look = async (entry: string): Promise<ListedSocket[]> => {
      const socket = host.text({ directory: components, entry: [entry] });
      const about = { pod, volume: volumeOf(entry) };
      try {
        using opened = openEntry(directory, [entry]);
        if (opened === undefined) return [];
        return [{ ...about, ...(await inspectOpened(host, opened, socket, table, pod, patience)) }];
      } catch (error) {
        return [{ ...about, socket, mountedAt: [], reason: messageOf(error) }];
      }
    };
    for (const some of chunks(names.sort(byNumber), atOnce)) {
      signal?.throwIfAborted();
      found.push(...(await Promise.all(some.map(look))).flat());
    }
  }
  return found;
}

function chunks(names: readonly string[], size: number): string[][] {
  const count = Math.ceil(names.length / size);
  return Array.from({ length: count }, (_, index) => names.slice(index * size, (index + 1) * size));
}

async function hotpluggedInto(
  host: Host,
  pod: string,
  table: readonly MountinfoEntry[],
): Promise<ListedVolume[]> {
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
