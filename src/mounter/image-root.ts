import { constants, readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Descriptor } from '../kernel/descriptor.ts';
import type { MountTable } from '../kernel/mount-table.ts';
import { type MountinfoEntry, parseMountinfo } from '../kernel/mountinfo.ts';
import { O_PATH } from '../kernel/open-flags.ts';
import { openat2, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS } from '../kernel/openat2.ts';
import type { ProcessHandle } from '../kernel/process-handle.ts';
import { isSameFile, statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import type { Host } from './host.ts';

/**
 * Where the host sees a directory of a mount: below the mount in the host's table that is of the same file system
 * and whose root is a prefix, the longest first. For a container of containerd this is
 * `/run/containerd/io.containerd.runtime.v2.task/k8s.io/<id>/rootfs`.
 *
 * @param mount a mount of another namespace
 * @returns paths on the host, the likeliest first
 */
export function hostPaths(mount: MountinfoEntry, table: MountTable): string[] {
  return table
    .ofFileSystem(mount)
    .filter(({ root }) => isPrefix(root, mount.root))
    .sort((a, b) => b.root.length - a.root.length)
    .map(({ root, mountPoint }) => join(mountPoint, relative(root, mount.root)));
}

function isPrefix(root: string, path: string): boolean {
  return root === '/' || root === path || path.startsWith(`${root}/`);
}

/**
 * The root of a container as the host sees it; undefined where the host's mount table does not show it.
 *
 * @param mounts mountinfo of a process in the container
 */
export function imageRoot(
  mounts: readonly MountinfoEntry[],
  table: MountTable,
): string | undefined {
  const mount = rootMount(mounts);
  return mount && hostPaths(mount, table)[0];
}

function rootMount(mounts: readonly MountinfoEntry[]): MountinfoEntry | undefined {
  return mounts.findLast(({ mountPoint }) => mountPoint === '/');
}

/** The path in an image of what a mount shows; undefined where it shows nothing of this image's root. */
export function pathInImage(
  mounts: readonly MountinfoEntry[],
  mount: MountinfoEntry,
): string | undefined {
  const image = rootMount(mounts);
  const isOfImage =
    image?.major === mount.major && image.minor === mount.minor && isPrefix(image.root, mount.root);
  return isOfImage ? join('/', relative(image.root, mount.root)) : undefined;
}

/**
 * A file of another mount namespace, opened where the host sees it.
 *
 * @param file open with O_PATH
 * @returns undefined where the host does not see that very file
 */
export function hostView(
  host: Host,
  process: ProcessHandle,
  file: Descriptor,
  table: MountTable,
): Descriptor | undefined {
  const status = statx(file.number);
  const mount = parseMountinfo(process.read('mountinfo')).find(
    ({ id }) => BigInt(id) === status.mountId,
  );
  if (mount === undefined) return undefined;
  const path = pathInMount(file, process, mount);
  using root = Descriptor.open(host.root, O_PATH | constants.O_DIRECTORY);
  for (const directory of hostPaths(mount, table)) {
    const seen = openIfThere(root, join(directory, path));
    if (seen && isSameFile(statx(seen.number), status)) return seen;
    seen?.[Symbol.dispose]();
  }
  return undefined;
}

/** The path of an open file below the root of the mount that it is on. */
function pathInMount(file: Descriptor, process: ProcessHandle, mount: MountinfoEntry): string {
  using root = process.root();
  const inRoot = relative(readlinkSync(root.path), readlinkSync(file.path));
  return relative(mount.mountPoint, join('/', inRoot));
}

function openIfThere(root: Descriptor, path: string): Descriptor | undefined {
  try {
    return openat2(root.number, path.replace(/^\/+/, ''), {
      flags: O_PATH,
      resolve: RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    });
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return undefined;
    throw error;
  }
}

/** The path of an open file in its file system, as field 4 of mountinfo has it. */
export function rootInFileSystem(
  file: Descriptor,
  process: ProcessHandle,
  mount: MountinfoEntry,
): string {
  return join(mount.root, pathInMount(file, process, mount));
}
