import type { Descriptor } from '../kernel/descriptor.ts';
import {
  type DirectoryEntry,
  DT_BLK,
  DT_DIR,
  DT_REG,
  DT_UNKNOWN,
} from '../kernel/directory-entries.ts';
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
 * A tenant can rename a target, with what is mounted on it, but only within its emptyDir, where the new name is seen;
 * but for one below a directory that is mounted over itself.
 *
 * @param pod uid of the launcher pod
 * @throws MounterError EHOSTILE where a directory is a link
 */
export function hasNothingElse(host: Host, pod: string, recorded: readonly RecordEntry[]): boolean {
  const { containerDisks, hotplugDisks } = new LauncherPod(pod, host.layout);
  return [containerDisks, hotplugDisks].every(({ directory }) => {
    const key = directory.join('/');
    const entries = recorded.filter(({ place }) => place.directory.join('/') === key);
    return entries.every(({ type }) => type !== 'directory') && isKnown(host, directory, entries);
  });
}

function isKnown(
  host: Host,
  components: readonly string[],
  recorded: readonly RecordEntry[],
): boolean {
  using directory = host.openDirectory(components);
  if (directory === undefined) return true;
  const types = new Map<string, number>();
  const levels = new Map<string, Map<string, number>>();
  for (const { type, place } of recorded) {
    const [first = '', inner] = place.entry;
    const its = type === 'device' ? DT_BLK : DT_REG;
    types.set(first, inner === undefined ? its : DT_DIR);
    if (inner === undefined) continue;
    const level = levels.get(first) ?? new Map<string, number>();
    levels.set(first, level.set(inner, its));
  }
  return (
    hasOnly(entriesIn(directory), types) &&
    Array.from(levels).every(([level, inner]) => hasLevelOnly(directory, level, inner))
  );
}

function hasLevelOnly(
  directory: Descriptor,
  level: string,
  types: ReadonlyMap<string, number>,
): boolean {
  try {
    using inner = openDirectory(directory, [level]);
    return inner === undefined || hasOnly(entriesIn(inner), types);
  } catch (error) {
    // A link or a file is there now, and what was there can be elsewhere.
    if (hasCode(error, 'EHOSTILE')) return false;
    throw error;
  }
}

/** @param types of the names that are known */
function hasOnly(entries: readonly DirectoryEntry[], types: ReadonlyMap<string, number>): boolean {
  return (
    entries.length < mostNames &&
    entries.every(({ name, type }) => types.get(name) === type || !suspicious.includes(type))
  );
}
