import type { Descriptor } from '../kernel/descriptor.ts';
import { DT_BLK, DT_DIR, DT_REG, DT_UNKNOWN } from '../kernel/directory-entries.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import { type Host, openDirectory } from './host.ts';
import type { RecordEntry } from './mount-record.ts';
import { entriesIn, mostNames } from './names-in.ts';

/** Files of these types can be places of mounts, or devices; sockets and links cannot. */
const suspicious: readonly number[] = [DT_UNKNOWN, DT_DIR, DT_BLK, DT_REG];

/**
 * Whether a launcher pod has nothing in the emptyDirs that hold targets but what a record tells of: then no mount can
 * be there under another name, and the mount table, whose length is the host's, need not be read.
 *
 * A tenant can rename a target, with what is mounted on it, but only within its emptyDir, where the new name is seen.
 *
 * @param pod uid of the launcher pod
 * @throws MounterError EHOSTILE where a directory is a link
 */
export function hasNothingElse(host: Host, pod: string, recorded: readonly RecordEntry[]): boolean {
  const { containerDisks, hotplugDisks } = new LauncherPod(pod, host.layout);
  return [containerDisks, hotplugDisks].every(({ directory }) => {
    const places = recorded
      .map(({ place }) => place)
      .filter((place) => place.directory.join('/') === directory.join('/'))
      .map(({ entry }) => entry);
    return isKnown(host, directory, places);
  });
}

function isKnown(
  host: Host,
  components: readonly string[],
  places: readonly (readonly string[])[],
): boolean {
  using directory = host.openDirectory(components);
  if (directory === undefined) return true;
  const levels = new Set(places.filter(({ length }) => length > 1).map(([level = '']) => level));
  if (!hasOnly(entriesIn(directory), [...levels, ...places.map(([name = '']) => name)])) {
    return false;
  }
  return [...levels].every((level) => {
    const names = places.filter(([first]) => first === level).map(([, name = '']) => name);
    return hasLevelOnly(directory, level, names);
  });
}

function hasLevelOnly(directory: Descriptor, level: string, names: readonly string[]): boolean {
  try {
    using inner = openDirectory(directory, [level]);
    return inner === undefined || hasOnly(entriesIn(inner), names);
  } catch (error) {
    // A link or a file is there now, and what was there can be elsewhere.
    if (hasCode(error, 'EHOSTILE')) return false;
    throw error;
  }
}

function hasOnly(entries: ReturnType<typeof entriesIn>, names: readonly string[]): boolean {
  const known = new Set(names);
  return (
    entries.length < mostNames &&
    entries.every(({ name, type }) => known.has(name) || !suspicious.includes(type))
  );
}
