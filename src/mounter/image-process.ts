import { constants } from 'node:fs';
import type { Descriptor } from '../kernel/descriptor.ts';
import type { ProcessHandle } from '../kernel/process-handle.ts';
import { socketPeer } from '../kernel/socket-peer.ts';
import { isSameFile, statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import { fileTypeName } from './file-type.ts';
import { type Host, openEntry } from './host.ts';
import { MounterError } from './mounter-error.ts';
import { podsOfCgroups } from './pods-of-cgroups.ts';

/**
 * The process that holds a socket of a pod.
 *
 * @param timeout milliseconds that it may take to accept
 * @throws MounterError ENOTREADY where there is no socket, EDEAD where nobody listens on it, EHOSTILE where it is
 *   something else; {@link socketPeer}'s errors
 */
export async function processBehind(
  host: Host,
  socket: PodPath,
  timeout = host.timeout,
): Promise<ProcessHandle> {
  const path = host.text(socket);
  using directory = host.openDirectory(socket.directory);
  using opened = directory && openEntry(directory, socket.entry);
  if (opened === undefined) {
    throw new MounterError('ENOTREADY', `no socket ${path} yet`);
  }
  return await processOfSocket(opened, path, timeout);
}

/**
 * The same for a process whose files are going to be used. It has to be in a container of the socket's pod: a
 * listening socket can be handed on, and where the kernel has no SO_PEERPIDFD its pid can be another's by now.
 *
 * @throws MounterError EHOSTILE
 */
export async function containerBehind(
  host: Host,
  socket: PodPath,
  timeout = host.timeout,
): Promise<ProcessHandle> {
  const { 1: pod = '' } = socket.directory;
  return refuseOthers(host, await processBehind(host, socket, timeout), host.text(socket), pod);
}

/**
 * The process in a container that listens on a socket that is open with O_PATH.
 *
 * @param pod uid of the pod that the socket is in, where that is known
 */
export async function containerOfSocket(
  host: Host,
  opened: Descriptor,
  path: string,
  pod: string | undefined,
  timeout = host.timeout,
): Promise<ProcessHandle> {
  return refuseOthers(host, await processOfSocket(opened, path, timeout), path, pod);
}

function refuseOthers(
  host: Host,
  process: ProcessHandle,
  path: string,
  pod: string | undefined,
): ProcessHandle {
  try {
    const who = `process ${process.pid}, which listens on ${path},`;
    if (isSameFile(process.mountNamespace(), host.mountNamespaceStatus)) {
      throw new MounterError('EHOSTILE', `${who} is on the host itself, not in a container`);
    }
    const pods = podsOfCgroups(process.readText('cgroup'));
    if (pod === undefined || pods.length === 0 || pods.includes(pod)) return process;
    throw new MounterError('EHOSTILE', `${who} is in a container of pod ${pods.join(', ')}`);
  } catch (error) {
    process[Symbol.dispose]();
    throw hasCode(error, 'ESRCH') ? dead(path, error) : error;
  }
}

async function processOfSocket(
  opened: Descriptor,
  path: string,
  timeout: number,
): Promise<ProcessHandle> {
  const { mode } = statx(opened.number);
  if ((mode & constants.S_IFMT) !== constants.S_IFSOCK) {
    throw new MounterError('EHOSTILE', `${path} is ${fileTypeName(mode)}, not a socket`);
  }
  try {
    const { process } = await socketPeer(opened, path, timeout);
    return process;
  } catch (cause) {
    throw hasCode(cause, 'ECONNREFUSED', 'ESRCH') ? dead(path, cause) : cause;
  }
}

function dead(path: string, cause: unknown): MounterError {
  return new MounterError(
    'EDEAD',
    `nobody listens on ${path}: the process that did has ended (is its container restarting?)`,
    { cause },
  );
}
