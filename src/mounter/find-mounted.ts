import { constants, readlinkSync } from 'node:fs';
import type { Descriptor } from '../kernel/descriptor.ts';
import type { MountTable } from '../kernel/mount-table.ts';
import { statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import { parseHotplugTargetName } from '../kubevirt/entry-names.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import { type Host, openEntry } from './host.ts';
import { entryKey, type RecordEntry } from './mount-record.ts';
import { namesIn } from './names-in.ts';

/**
 * What is mounted, or is a block device, in the emptyDirs of a launcher pod that hold targets, whatever it is called
 * by now: a tenant can rename the directories there, and the mounts in them go along.
 *
 * @param pod uid of the launcher pod
 * @param table mountinfo of the host
 */
export function findMounted(
  host: Host,
  pod: string,
  table: MountTable = host.mountTable(),
): RecordEntry[] {
  const launcher = new LauncherPod(pod, host.layout);
  const disks = launcher.containerDisks.directory;
  const hotplugged = launcher.hotplugDisks.directory;
  const entries = [
    ...mountsBelow(host, disks, table),
    ...mountsBelow(host, hotplugged, table).map((entry) => ({
      ...entry,
      volume: volumeOf(entry.volume) ?? entry.volume,
    })),
    ...devicesIn(host, hotplugged),
  ];
  return [...new Map(entries.map((entry) => [entryKey(entry), entry])).values()];
}

function mountsBelow(host: Host, components: readonly string[], table: MountTable): RecordEntry[] {
  using directory = host.openDirectory(components);
  if (directory === undefined) return [];
  const path = readlinkSync(directory.path);
  return table
    .below(path)
    .map(({ mountPoint }) => mountPoint.slice(path.length + 1).split('/'))
    .sort(innermostFirst)
    .map((entry) => ({
      volume: entry.at(-1) ?? '',
      type: isDirectory(directory, entry) ? 'directory' : 'file',
      place: { directory: components, entry },
    }));
}

/** By their names; what is mounted below another comes before it, so that it is in sight when it is its turn. */
function innermostFirst(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((name, index) => name !== other[index]);
  const [a, b] = [one[at], other[at]];
  if (a === undefined || b === undefined) return other.length - one.length;
  return a < b ? -1 : 1;
}

function devicesIn(host: Host, components: readonly string[]): RecordEntry[] {
  using directory = host.openDirectory(components);
  if (directory === undefined) return [];
  const entries: RecordEntry[] = [];
  for (const name of namesIn(directory)) {
    const volume = volumeOf(name);
    if (volume === undefined || typeOf(directory, [name]) !== constants.S_IFBLK) continue;
    entries.push({ volume, type: 'device', place: { directory: components, entry: [name] } });
  }
  return entries;
}

function volumeOf(name: string): string | undefined {
  const owner = parseHotplugTargetName(name);
  return owner?.kind === 'hotplugVolume' ? owner.volume : undefined;
}

function isDirectory(directory: Descriptor, entry: readonly string[]): boolean {
  return typeOf(directory, entry) === constants.S_IFDIR;
}

/** The file type of what is there; undefined where nothing is, or a link on the way. */
function typeOf(directory: Descriptor, entry: readonly string[]): number | undefined {
  try {
    using file = openEntry(directory, entry);
    return file && statx(file.number).mode & constants.S_IFMT;
  } catch (error) {
    if (hasCode(error, 'EHOSTILE')) return undefined;
    throw error;
  }
}
