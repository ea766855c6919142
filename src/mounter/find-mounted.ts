import { constants } from 'node:fs';
import type { Descriptor } from '../kernel/descriptor.ts';
import { statx } from '../kernel/statx.ts';
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
  using opened = entry.length === 0 ? undefined : openDirectory(emptyDir, entry);
  const looked = entry.length === 0 ? emptyDir : opened;
  if (looked === undefined) return [];
  return namesIn(looked).flatMap((name) => {
    const found = name === kernelBootName ? undefined : owner(name);
    const type = found && mountedType(looked, name);
    if (found === undefined || type === undefined) return [];
    return [{ ...found, type, place: { directory, entry: [...entry, name] } }];
  });
}

/** The type of what is mounted there; undefined where nothing is that was made here. */
function mountedType(directory: Descriptor, name: string): RecordEntry['type'] | undefined {
  let found: Descriptor | undefined;
  try {
    found = openEntry(directory, [name]);
  } catch {
    // A link: whatever it leads to, nothing is mounted on it.
    return undefined;
  }
  using file = found;
  if (file === undefined) return undefined;
  const { mode, isMountRoot } = statx(file.number);
  const type = mode & constants.S_IFMT;
  if (type === constants.S_IFBLK && !isMountRoot) return 'device';
  if (!isMountRoot) return undefined;
  return type === constants.S_IFDIR ? 'directory' : 'file';
}
