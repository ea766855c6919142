import { constants, readlinkSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { Descriptor } from '../kernel/descriptor.ts';
import type { MountTable } from '../kernel/mount-table.ts';
import { type MountinfoEntry, parseMountinfo } from '../kernel/mountinfo.ts';
import { O_PATH } from '../kernel/open-flags.ts';
import type { ProcessHandle } from '../kernel/process-handle.ts';
import { statx } from '../kernel/statx.ts';
import { kernelBootSocketName } from '../kubevirt/entry-names.ts';
import type { Disk } from './disk/disk.ts';
import type { Host } from './host.ts';
import { openInImage } from './image-artifacts.ts';
import { containerOfSocket } from './image-process.ts';
import { imageRoot, pathInImage, rootInFileSystem } from './image-root.ts';
import { messageOf } from './mounter-error.ts';

/** What a socket leads to. */
export interface SocketReport {
  readonly socket: string;
  readonly pid?: number;
  /** The root of the container as the host's mount table shows it; undefined where it does not. */
  readonly imageRoot?: string;
  /** Path of the disk in the image. */
  readonly path?: string;
  readonly disk?: Disk;
  /** Where the disk is mounted on the host. */
  readonly mountedAt: readonly string[];
  /** Why something is missing. */
  readonly reason?: string;
}

/**
 * Follows one socket to its disk.
 *
 * @param path of the socket as this process sees it; a link is not followed
 */
export async function inspect(host: Host, path: string): Promise<SocketReport> {
  const socket = resolve(path);
  try {
    using opened = Descriptor.open(socket, O_PATH | constants.O_NOFOLLOW);
    return await inspectOpened(host, opened, socket, host.mountTable());
  } catch (error) {
    return { socket, mountedAt: [], reason: messageOf(error) };
  }
}

/**
 * @param table mountinfo of the host
 * @param pod uid of the pod that the socket is in, where that is known
 */
export async function inspectOpened(
  host: Host,
  opened: Descriptor,
  socket: string,
  table: MountTable,
  pod?: string,
  timeout = host.timeout,
): Promise<SocketReport> {
  let process: ProcessHandle;
  try {
    process = await containerOfSocket(host, opened, socket, pod, timeout);
  } catch (error) {
    return { socket, mountedAt: [], reason: messageOf(error) };
  }
  using held = process;
  const mounts = parseMountinfo(held.read('mountinfo'));
  const root = imageRoot(mounts, table);
  const about = { socket, pid: held.pid, ...(root === undefined ? {} : { imageRoot: root }) };
  if (!holdsDisk(basename(socket))) return { ...about, mountedAt: [] };
  const target = targetOf(opened, table);
  try {
    return { ...about, ...(await diskOf(host, held, { socket, target, mounts, table })) };
  } catch (error) {
    return { ...about, mountedAt: target ? [target.mountPoint] : [], reason: messageOf(error) };
  }
}

/** What is mounted at the target beside a socket: `disk_0.img` beside `disk_0.sock`. */
function targetOf(socket: Descriptor, table: MountTable): MountinfoEntry | undefined {
  return table.at(readlinkSync(socket.path).replace(/\.sock$/, '.img')).at(-1);
}

/** The socket of an attachment pod leads to volumes, and that of kernel boot to what only the VMI names. */
function holdsDisk(name: string): boolean {
  return name !== 'hp.sock' && name !== kernelBootSocketName;
}

async function diskOf(
  host: Host,
  process: ProcessHandle,
  {
    socket,
    target,
    mounts,
    table,
  }: {
    socket: string;
    target: MountinfoEntry | undefined;
    mounts: readonly MountinfoEntry[];
    table: MountTable;
  },
): Promise<Pick<SocketReport, 'path' | 'disk' | 'mountedAt'>> {
  const image = `the image behind ${socket}`;
  // Which file it is only the VMI tells where there are several, and the mount where it is mounted.
  const mounted = target && pathInImage(mounts, target);
  const opened = await openInImage(host, process, { kind: 'disk', path: mounted, image });
  using file = opened.file;
  const { path, disk } = opened;
  const mountedAt = mountPointsOf(file, process, mounts, table);
  if (target && !mountedAt.includes(target.mountPoint)) mountedAt.push(target.mountPoint);
  return { path, ...(disk && { disk }), mountedAt };
}

/** The mounts in the host's table whose root is this very file. */
function mountPointsOf(
  file: Descriptor,
  process: ProcessHandle,
  mounts: readonly MountinfoEntry[],
  table: MountTable,
): string[] {
  const { mountId } = statx(file.number);
  const mount = mounts.find(({ id }) => BigInt(id) === mountId);
  if (mount === undefined) return [];
  const root = rootInFileSystem(file, process, mount);
  return [...table.mountPointsOf(mount, root)];
}
