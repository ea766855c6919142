import { isUid } from '../kubevirt/names.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import type { MountedFile } from './mounted-file.ts';
import type { TargetKind } from './target.ts';

/** The version of the form of a record. A record of another one is set aside. */
export const recordVersion = 1;

/** Something that is, or was about to be, made for a virtual machine. */
export interface RecordEntry {
  /** The volume's name, `kernel` or `initrd`. */
  readonly volume: string;
  readonly type: TargetKind | 'device';
  readonly place: PodPath;
  /** Which file is mounted there. */
  readonly source?: MountedFile;
  /** A device whose use was allowed, as `recordedDevice` writes it. */
  readonly device?: string;
  /** Directories of the cgroups that it was allowed in: a pod can hide the process that they were found by. */
  readonly cgroups?: readonly string[];
}

/** What is made for one VirtualMachineInstance on this node; one JSON file each. */
export interface MountRecord {
  readonly version: typeof recordVersion;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly entries: readonly RecordEntry[];
}

/** Entries are one where their place is. */
export function entryKey({ place }: RecordEntry): string {
  return [...place.directory, ...place.entry].join('/');
}

/** The uid of the pod that an entry's place is in: the second of the components `pods/<uid>/…`. */
export function podOf({ place }: RecordEntry): string {
  return place.directory[1] ?? '';
}

/** @throws Error with what is wrong, where the text is not a record of this version */
export function parseRecord(text: string): MountRecord {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new Error('it is not an object');
  if (value['version'] !== recordVersion) {
    throw new Error(`its version is ${JSON.stringify(value['version'])}, not ${recordVersion}`);
  }
  const { namespace, name, uid, entries } = value;
  if (!isText(namespace) || !isText(name) || !isText(uid) || !Array.isArray(entries)) {
    throw new Error('a field is missing');
  }
  return { version: recordVersion, namespace, name, uid, entries: entries.map(parseEntry) };
}

function parseEntry(value: unknown): RecordEntry {
  if (!isObject(value)) throw new Error('an entry is not an object');
  const { volume, type, place, source, device, cgroups } = value;
  if (!isText(volume) || !isObject(place)) throw new Error('a field of an entry is missing');
  if (type !== 'file' && type !== 'directory' && type !== 'device') {
    throw new Error(`an entry has the type ${JSON.stringify(type)}`);
  }
  const { directory, entry } = place;
  if (!isNames(directory) || !isNames(entry) || directory.length !== 5 || entry.length === 0) {
    throw new Error('an entry has no place in an emptyDir');
  }
  const { 1: pod } = directory;
  if (pod === undefined || !isUid(pod)) throw new Error('an entry has no pod');
  return {
    volume,
    type,
    place: { directory, entry },
    ...(source === undefined ? {} : { source: parseSource(source) }),
    ...(isText(device) ? { device } : {}),
    ...(isPaths(cgroups) ? { cgroups } : {}),
  };
}

function parseSource(value: unknown): MountedFile {
  if (!isObject(value)) throw new Error('the source of an entry is not an object');
  const { fileSystem, inode } = value;
  if (!isText(fileSystem) || !isText(inode)) throw new Error('an entry has no source');
  return { fileSystem, inode };
}

/** Components of a path: a record is root's own, and still leads nowhere else. */
function isNames(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.every((name) => isText(name) && !/[/\0]/.test(name) && name !== '.' && name !== '..')
  );
}

function isPaths(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((path) => isText(path) && path.startsWith('/'));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
