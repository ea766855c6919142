import { readFileSync } from 'node:fs';
import { type MountinfoEntry, parseMountinfo } from './mountinfo.ts';
import type { DeviceNumber } from './statx.ts';

/** What the kernel may write in another way (proc_pid_mountinfo(5)), or in more bytes than characters. */
const maybeEscaped = /[^\x21-\x7e]|[\\#]/;

/**
 * The mounts of a mount namespace. A host can have thousands, most of which are nobody's business here: only the
 * lines that are asked for are understood.
 */
export class MountTable {
  readonly #content: Uint8Array;
  /** A character for each byte. */
  readonly #text: string;
  #entries: readonly MountinfoEntry[] | undefined;
  #byMountPoint: Map<string, MountinfoEntry[]> | undefined;
  #byRoot: Map<string, readonly string[]> | undefined;
  #byDevice: Map<string, MountinfoEntry[]> | undefined;

  /** @param content as in `/proc/<pid>/mountinfo` */
  constructor(content: Uint8Array) {
    this.#content = content;
    this.#text = Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1');
  }

  /** @param process a directory of /proc, for instance `/proc/self` */
  static read(process: string): MountTable {
    return new MountTable(readFileSync(`${process}/mountinfo`));
  }

  /** All of them. */
  get entries(): readonly MountinfoEntry[] {
    this.#entries ??= parseMountinfo(this.#content);
    return this.#entries;
  }

  /** What is mounted at a path, the topmost last. */
  at(mountPoint: string): readonly MountinfoEntry[] {
    this.#byMountPoint ??= grouped(this.entries, (entry) => entry.mountPoint);
    return this.#byMountPoint.get(mountPoint) ?? [];
  }

  /** Those of a file system. */
  ofFileSystem({ major, minor }: DeviceNumber): readonly MountinfoEntry[] {
    this.#byDevice ??= grouped(this.entries, (entry) => `${entry.major}:${entry.minor}`);
    return this.#byDevice.get(`${major}:${minor}`) ?? [];
  }

  /** Where a file or directory of a file system is mounted, by its path there; each place once. */
  mountPointsOf({ major, minor }: DeviceNumber, root: string): readonly string[] {
    this.#byRoot ??= new Map(
      Array.from(
        grouped(this.entries, (entry) => `${entry.major}:${entry.minor} ${entry.root}`),
        ([key, entries]) => [key, [...new Set(entries.map(({ mountPoint }) => mountPoint))]],
      ),
    );
    return this.#byRoot.get(`${major}:${minor} ${root}`) ?? [];
  }

  /** Those whose mount point is below a directory. */
  below(directory: string): MountinfoEntry[] {
    const prefix = `${directory}/`;
    const some = maybeEscaped.test(prefix) ? this.entries : this.#withText(` ${prefix}`);
    return some.filter(({ mountPoint }) => mountPoint.startsWith(prefix));
  }

  /** Those of file systems of a type. */
  ofType(fsType: string): MountinfoEntry[] {
    return this.#withText(` - ${fsType} `).filter((entry) => entry.fsType === fsType);
  }

  /** The lines in which a text is, wherever. */
  #withText(text: string): MountinfoEntry[] {
    const lines: string[] = [];
    for (let at = this.#text.indexOf(text); at >= 0; ) {
      const start = this.#text.lastIndexOf('\n', at) + 1;
      const end = this.#text.indexOf('\n', at);
      lines.push(this.#text.slice(start, end < 0 ? undefined : end));
      at = end < 0 ? -1 : this.#text.indexOf(text, end);
    }
    return parseMountinfo(Buffer.from(lines.join('\n'), 'latin1'));
  }
}

function grouped(
  entries: readonly MountinfoEntry[],
  keyOf: (entry: MountinfoEntry) => string,
): Map<string, MountinfoEntry[]> {
  const groups = new Map<string, MountinfoEntry[]>();
  for (const entry of entries) {
    const key = keyOf(entry);
    const group = groups.get(key);
    if (group) group.push(entry);
    else groups.set(key, [entry]);
  }
  return groups;
}
