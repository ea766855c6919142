import { chmodSync, constants, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Descriptor } from '../kernel/descriptor.ts';
import { openat2, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS } from '../kernel/openat2.ts';
import { type FileStatus, statx } from '../kernel/statx.ts';
import { hasCode, withPath } from '../kernel/syscall-error.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import { fileTypeName } from './file-type.ts';
import { type Host, openDirectory, openEntry } from './host.ts';
import { MounterError } from './mounter-error.ts';

/** What a target is: the disk's file, or the directory of a memory dump or a utility volume. */
export type TargetKind = 'file' | 'directory';

/** How many mounts on top of one another are taken away; two runs at once cannot make more than a few. */
const stacked = 64;

const directoryMode = 0o755;

/** How often something is made that a tenant takes away at once. */
const attempts = 16;

/** A place in a pod's emptyDir where something is mounted: its directory is held, its name is looked up anew. */
export class Target implements Disposable {
  readonly path: string;
  readonly #directory: Descriptor;
  readonly #name: string;

  private constructor(path: string, directory: Descriptor, name: string) {
    this.path = path;
    this.#directory = directory;
    this.#name = name;
  }

  /**
   * The place, whose directory has to be there; a level between the emptyDir and the name (kernel-boot) is made.
   *
   * @param create whether that level is made; else there is no target where it is missing
   * @returns undefined where its directory is not there
   */
  static open(host: Host, place: PodPath, create: boolean): Target | undefined {
    const directory = host.openDirectory(place.directory);
    if (directory === undefined) return undefined;
    const levels = place.entry.slice(0, -1);
    const name = place.entry.at(-1) ?? '';
    if (levels.length === 0) return new Target(host.text(place), directory, name);
    using parent = directory;
    if (create) makeDirectory(parent, levels.join('/'), dirname(host.text(place)));
    const inner = openDirectory(parent, levels);
    if (inner && create) letThrough(inner);
    return inner && new Target(host.text(place), inner, name);
  }

  /** What is there, open with O_PATH; on top of a mount its root. */
  look(): { file: Descriptor; status: FileStatus } | undefined {
    const file = openEntry(this.#directory, [this.#name]);
    return file && { file, status: statx(file.number) };
  }

  /**
   * The file or directory to mount on, which is made where it is missing; or the root of what is mounted there.
   * Nothing that is there is written to, truncated or given to another owner, and nothing of a tenant is hidden:
   * only an empty place that was made here, by this run or an earlier one, is mounted on.
   *
   * @param isMissing whether nothing was there a moment ago
   * @returns without a status where it was made
   * @throws MounterError EHOSTILE where something else is there
   */
  make(
    kind: TargetKind,
    isMissing: boolean,
  ): { readonly file: Descriptor; readonly status?: FileStatus } {
    if (isMissing && kind === 'file') {
      const made = this.#makeFile();
      if (made) return { file: made };
    }
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const found = this.look();
      if (found) {
        if (found.status.isMountRoot || isPlace(found.status, kind)) return found;
        found.file[Symbol.dispose]();
        throw new MounterError(
          'EHOSTILE',
          `cannot mount on ${this.path}: ${descriptionOf(found.status)} is there, which was not made for it; move it away`,
        );
      }
      if (kind === 'directory') makeDirectory(this.#directory, this.#name, this.path);
      else this.#makeFile()?.[Symbol.dispose]();
    }
    throw new MounterError(
      'EHOSTILE',
      `cannot mount on ${this.path}: somebody takes it away as often as it is made`,
    );
  }

  /** @returns undefined where something is there */
  #makeFile(): Descriptor | undefined {
    try {
      return openat2(this.#directory.number, this.#name, {
        flags: constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW,
        mode: 0o600,
        resolve: RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
      });
    } catch (error) {
      // ENOENT: the directory has been removed since it was opened.
      if (!hasCode(error, 'EEXIST', 'ENOENT')) throw withPath(error, this.path);
      return undefined;
    }
  }

  /** Takes every mount at this place away, and the place itself. @returns how many mounts there were */
  async clear(host: Host, kind: TargetKind): Promise<number> {
    const { count, left } = await this.#detach(host);
    await this.#remove(host, kind, left);
    return count;
  }

  /** Takes every mount at this place away. */
  async detach(host: Host): Promise<void> {
    await this.#detach(host);
  }

  /** @returns how many mounts there were, and what is there without them */
  async #detach(host: Host): Promise<{ readonly count: number; readonly left?: FileStatus }> {
    for (let count = 0; count < stacked; count += 1) {
      const found = this.#lookAtPlace();
      using file = found?.file;
      if (file === undefined || found === undefined) return { count };
      if (!found.status.isMountRoot) return { count, left: found.status };
      try {
        await host.thread.detach(host.mountNamespace, file.number, this.path);
      } catch (error) {
        // The mounts on a name go with it, when it is removed in another namespace (unlink(2) in a container).
        if (!hasCode(error, 'EINVAL') || this.#isStillThere(found.status)) throw error;
      }
    }
    throw new MounterError(
      'EUNSUPPORTED',
      `${this.path} is still a mount after ${stacked} were taken away`,
    );
  }

  #isStillThere({ mountId }: FileStatus): boolean {
    const found = this.#lookAtPlace();
    using _file = found?.file;
    return found?.status.mountId === mountId;
  }

  /** Removes the empty place once nothing is mounted on it. What a tenant has put there instead stays. */
  async remove(host: Host, kind: TargetKind | 'device'): Promise<void> {
    const found = this.#lookAtPlace();
    using _file = found?.file;
    await this.#remove(host, kind, found?.status);
  }

  async #remove(
    host: Host,
    kind: TargetKind | 'device',
    there: FileStatus | undefined,
  ): Promise<void> {
    if (there === undefined || there.isMountRoot || !isPlace(there, kind)) return;
    const how = { isDirectory: kind === 'directory', path: this.path };
    try {
      await host.thread.unlink(host.mountNamespace, this.#directory.number, this.#name, how);
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR')) throw error;
    }
  }

  /** A link is nothing that was made here. */
  #lookAtPlace(): { file: Descriptor; status: FileStatus } | undefined {
    try {
      return this.look();
    } catch (error) {
      if (hasCode(error, 'EHOSTILE')) return undefined;
      throw error;
    }
  }

  /** The directory that the name is in; for mknodat(2). */
  get directory(): Descriptor {
    return this.#directory;
  }

  get name(): string {
    return this.#name;
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }
}

/**
 * Whether a file or directory is one to mount on: empty, of one name, and of the user that this runs as, so that no
 * tenant can have made it. A device node was made here, as no tenant can make one at all.
 */
function isPlace({ mode, uid, size, nlink }: FileStatus, kind: TargetKind | 'device'): boolean {
  const type = mode & constants.S_IFMT;
  if (kind === 'device') return type === constants.S_IFBLK;
  if (uid !== process.geteuid?.()) return false;
  if (kind === 'directory') return type === constants.S_IFDIR;
  return type === constants.S_IFREG && size === 0n && nlink === 1;
}

function descriptionOf({ mode, uid, size, nlink }: FileStatus): string {
  const name = fileTypeName(mode);
  if (uid !== process.geteuid?.()) return `${name} of uid ${uid}`;
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) return name;
  return size > 0n ? `${name} with ${size} bytes in it` : `${name} with ${nlink} names`;
}

/** A directory that was made here has to let QEMU through, whatever the umask was. */
function letThrough(directory: Descriptor): void {
  const { uid, mode } = statx(directory.number);
  if (uid !== process.geteuid?.() || (mode & directoryMode) === directoryMode) return;
  chmodSync(directory.path, directoryMode);
}

function makeDirectory(parent: Descriptor, name: string, path: string): void {
  try {
    mkdirSync(parent.entry(name), { mode: directoryMode });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw withPath(error, path);
  }
}
