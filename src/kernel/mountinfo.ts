import { readFileSync } from 'node:fs';
import { pathFromBytes } from './path-bytes.ts';

/** A line of `/proc/<pid>/mountinfo`, field by field as proc_pid_mountinfo(5) has them. */
export interface MountinfoEntry {
  /** (1) mount ID: a unique ID for the mount (may be reused after umount(2)). */
  readonly id: number;
  /** (2) parent ID: the ID of the parent mount, or of self for the root of this mount namespace's tree. */
  readonly parentId: number;
  /** (3) major:minor: the value of `st_dev` for files on this file system. */
  readonly major: number;
  readonly minor: number;
  /**
   * (4) root: the pathname of the directory in the file system which forms the root of this mount. `//deleted` is
   * appended to that of a file that was removed since.
   */
  readonly root: string;
  /** (5) mount point: the pathname of the mount point relative to the process's root directory. */
  readonly mountPoint: string;
  /** (6) mount options: per-mount options. */
  readonly options: readonly string[];
  /** (7) optional fields: zero or more of the form `tag[:value]`; a tag without a value has ''. */
  readonly optionalFields: ReadonlyMap<string, string>;
  /** (9) file system type, in the form `type[.subtype]`. */
  readonly fsType: string;
  /** (10) mount source: file-system-specific information or `none`. */
  readonly source: string;
  /** (11) super options: per-superblock options. */
  readonly superOptions: readonly string[];
}

/** A line that is not of the form that proc_pid_mountinfo(5) gives. */
export class MountinfoError extends Error {
  override readonly name = 'MountinfoError';
  readonly code = 'EMOUNTINFO';
}

/**
 * The mounts of a process's mount namespace, those below its root directory.
 *
 * @param process a directory of /proc, for instance `/proc/self`
 */
export function readMountinfo(process: string): MountinfoEntry[] {
  return parseMountinfo(readFileSync(`${process}/mountinfo`));
}

/** @throws MountinfoError */
export function parseMountinfo(content: Uint8Array): MountinfoEntry[] {
  const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseLine);
}

function parseLine(line: string): MountinfoEntry {
  const fields = line.split(' ');
  // (8) The separator, a hyphen by itself, ends the optional fields, of which there may be any number.
  const separator = fields.indexOf('-', 6);
  const [id, parentId, device, root, mountPoint, options] = fields;
  const [fsType, source, ...superOptions] = fields.slice(separator + 1);
  const [, major, minor] = /^(\d+):(\d+)$/.exec(device ?? '') ?? [];
  if (
    separator < 0 ||
    !isNumber(id) ||
    !isNumber(parentId) ||
    major === undefined ||
    minor === undefined ||
    root === undefined ||
    mountPoint === undefined ||
    options === undefined ||
    fsType === undefined ||
    source === undefined
  ) {
    throw new MountinfoError(`not a line of mountinfo: ${JSON.stringify(line.slice(0, 200))}`);
  }
  return {
    id: Number(id),
    parentId: Number(parentId),
    major: Number(major),
    minor: Number(minor),
    root: unescapeOctal(root),
    mountPoint: unescapeOctal(mountPoint),
    options: options.split(','),
    optionalFields: new Map(fields.slice(6, separator).map(tag)),
    fsType: unescapeOctal(fsType),
    source: unescapeOctal(source),
    // A comma within an option is escaped, as in the directories of an overlay.
    superOptions: superOptions.join(' ').split(',').filter(Boolean).map(unescapeOctal),
  };
}

function isNumber(field: string | undefined): field is string {
  return field !== undefined && /^\d+$/.test(field);
}

function tag(field: string): [string, string] {
  const colon = field.indexOf(':');
  return colon < 0 ? [field, ''] : [field.slice(0, colon), field.slice(colon + 1)];
}

/** Neither escaped nor a byte above 127, as nearly every field is. */
const plain = /^[\x21-\x5b\x5d-\x7e]*$/;

/** The kernel writes space, tab, newline, backslash and, as of Linux 5.10, `#` as a backslash and three octal digits. */
function unescapeOctal(field: string): string {
  if (plain.test(field)) return field;
  const bytes = field.includes('\\')
    ? field.replace(/\\([0-3][0-7]{2})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      )
    : field;
  return pathFromBytes(Buffer.from(bytes, 'latin1'));
}
