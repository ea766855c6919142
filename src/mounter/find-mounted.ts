import { constants, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import type { Descriptor } from '../kernel/descriptor.ts';
import type { MountinfoEntry } from '../kernel/mountinfo.ts';
import { statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import {
  kernelBootName,
  parseContainerDiskTargetName,
  parseHotplugTargetName,
} from '../kubevirt/entry-names.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import { type Host, openDirectory, openEntry } from './host.ts';
import type { RecordEntry } from './mount-record.ts';
import { namesIn } from './names-in.ts';

/**
 * What is mounted, or is a block device, in the emptyDirs of a launcher pod, by looking at every name there that
 * can be a target.
 *
 * @param pod uid of the launcher pod
 */
export function findMounted(host: Host, pod: string): RecordEntry[] {
  const launcher = new LauncherPod(pod, host.layout);
  return [
    ...entriesIn(host, launcher.containerDisks, (name) => {
      const owner = parseContainerDiskTargetName(name);
      if (owner?.kind === 'containerDisk') return { volume: name };
      return undefined;
    }),
    ...entriesIn(host, launcher.kernelBootDirectory, (name) => ({ volume: name })),
    ...entriesIn(host, launcher.hotplugDisks, (name) => {
      const owner = parseHotplugTargetName(name);
      return owner?.kind === 'hotplugVolume' ? { volume: owner.volume } : undefined;
    }),
  ];
}

function entriesIn(
  host: Host,
  { directory, entry }: PodPath,
  owner: (name: string) => { volume: string } | undefined,
): RecordEntry[] {
  using emptyDir = host.openDirectory(directory);
  if (emptyDir === undefined) return [];
  using opened = entry.length === 0 ? undefined : openLevel(emptyDir, entry);
  const looked = entry.length === 0 ? emptyDir : opened;
  if (looked === undefined) return [];
  return namesIn(looked).flatMap((name) => {
    const found = name === kernelBootName ? undefined : owner(name);
    const type = found && mountedType(looked, name);
    if (found === undefined || type === undefined) return [];
    return [{ ...found, type, place: { directory, entry: [...entry, name] } }];
  });
}

/** A level that a pod has put a link in place of holds nothing that was mounted here. */
function openLevel(directory: Descriptor, entry: readonly string[]): Descriptor | undefined {
  try {
    return openDirectory(directory, entry);
  } catch (error) {
    if (hasCode(error, 'EHOSTILE')) return undefined;
    throw error;
  }
}

/** The type of what is mounted there; undefined where nothing is that was made here. */
function mountedType(directory: Descriptor, name: string): RecordEntry['type'] | undefined {
  using file = openEntryUnlessLink(directory, name);
  if (file === undefined) return undefined;
  const { mode, isMountRoot } = statx(file.number);
  const type = mode & constants.S_IFMT;
  if (type === constants.S_IFBLK && !isMountRoot) return 'device';
  if (!isMountRoot) return undefined;
  return type === constants.S_IFDIR ? 'directory' : 'file';
}

/** Whatever a link leads to, nothing is mounted on it. */
function openEntryUnlessLink(directory: Descriptor, name: string): Descriptor | undefined {
  try {
    return openEntry(directory, [name]);
  } catch (error) {
    if (hasCode(error, 'EHOSTILE')) return undefined;
    throw error;
  }
}

/**
 * Mounts anywhere below the emptyDirs of a launcher pod, by the host's mount table: a pod can rename the directory
 * that a target is in, and the mount goes with it.
 */
export function findStrayMounts(
  host: Host,
  pod: string,
  table: readonly MountinfoEntry[],
): RecordEntry[] {
  const { containerDisks, hotplugDisks } = new LauncherPod(pod, host.layout);
  return [containerDisks, hotplugDisks].flatMap(({ directory }) => {
    using emptyDir = host.openDirectory(directory);
    if (emptyDir === undefined) return [];
    const prefix = `${readlinkSync(emptyDir.path)}/`;
    return table
      .filter(({ mountPoint }) => mountPoint.startsWith(prefix))
      .map(({ mountPoint, root }) => ({
        volume: basename(mountPoint),
        type: root.endsWith('/') ? 'directory' : 'file',
        place: { directory, entry: mountPoint.slice(prefix.length).split('/') },
      }));
  });
}
