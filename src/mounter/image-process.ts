import { constants } from 'node:fs';
import type { Descriptor } from '../kernel/descriptor.ts';
import type { ProcessHandle } from '../kernel/process-handle.ts';
import { socketPeer } from '../kernel/socket-peer.ts';
import { statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import { type Host, openEntry } from './host.ts';
import { MounterError } from './mounter-error.ts';

/**
 * The process that holds a socket of a pod.
 *
 * @throws MounterError ENOTREADY where there is no socket, EDEAD where nobody listens on it, EHOSTILE where it is
 *   something else; {@link socketPeer}'s errors
 */
export async function processBehind(host: Host, socket: PodPath): Promise<ProcessHandle> {
  const path = host.text(socket);
  using directory = host.openDirectory(socket.directory);
  using opened = directory && openEntry(directory, socket.entry);
  if (opened === undefined) {
    throw new MounterError('ENOTREADY', `no socket ${path} yet`);
  }
  return await processOfSocket(host, opened, path);
}

/** The process that listens on a socket that is open with O_PATH. */
export async function processOfSocket(
  host: Host,
  opened: Descriptor,
  path: string,
): Promise<ProcessHandle> {
  if ((statx(opened.number).mode & constants.S_IFMT) !== constants.S_IFSOCK) {
    throw new MounterError('EHOSTILE', `${path} is not a socket`);
  }
  try {
    const { process } = await socketPeer(opened, path, host.timeout);
    return process;
  } catch (cause) {
    if (!hasCode(cause, 'ECONNREFUSED', 'ESRCH')) throw cause;
    throw new MounterError(
      'EDEAD',
      `nobody listens on ${path}: the process that made it has ended (is its container restarting?)`,
      { cause },
    );
  }
}
