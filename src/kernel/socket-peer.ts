import { setTimeout as sleep } from 'node:timers/promises';
import type { Descriptor } from './descriptor.ts';
import { holdsListeningSocket } from './listening-socket.ts';
import { pidfdOpen } from './pidfd.ts';
import { ProcessGoneError, ProcessHandle } from './process-handle.ts';
import { hasCode } from './syscall-error.ts';
import {
  connectDescriptor,
  type PeerCredentials,
  peerCredentials,
  peerPidfd,
} from './unix-socket.ts';

/** Milliseconds between two tries while a socket's backlog is full. */
const pause = 10;

/** The process that listens on a socket is in a pid namespace that cannot be seen from here. */
export class ForeignPidNamespaceError extends Error {
  override readonly name = 'ForeignPidNamespaceError';
  readonly code = 'EPIDNS';

  constructor(path: string) {
    super(
      `the process behind ${path} has pid 0 here: this is not the host's pid namespace (a pod needs hostPID: true)`,
    );
  }
}

/** A socket accepts no connection within the time given. */
export class NotAcceptingError extends Error {
  override readonly name = 'NotAcceptingError';
  readonly code = 'ETIMEDOUT';

  constructor(path: string, milliseconds: number) {
    super(`${path} has accepted no connection for ${milliseconds} ms: its backlog is full`);
  }
}

/**
 * Connects to a socket that is open with O_PATH, and holds the process that listens on it.
 *
 * @param path the socket's path, for messages
 * @param timeout milliseconds to wait for a place in the backlog
 * @throws SyscallError ECONNREFUSED where nobody listens; {@link NotAcceptingError};
 *   {@link ForeignPidNamespaceError}; ProcessGoneError
 */
export async function socketPeer(
  socket: Descriptor,
  path: string,
  timeout: number,
): Promise<{ credentials: PeerCredentials; process: ProcessHandle }> {
  using connection = await connect(socket, path, timeout);
  const credentials = peerCredentials(connection);
  if (credentials.pid === 0) throw new ForeignPidNamespaceError(path);
  const pidfd = peerPidfd(connection);
  const process = pidfd
    ? new ProcessHandle(credentials.pid, pidfd)
    : await listenerByPid(socket, path, timeout, credentials.pid);
  return { credentials, process };
}

/**
 * The process with a pid, where the kernel gives no pidfd with the connection (before Linux 6.5). The pid is that of
 * whoever called listen(2), also when that has ended and another process keeps the socket: so whoever has the pid
 * has to have a listening socket, and be the one that is connected to again once it is held.
 *
 * @throws ProcessGoneError
 */
async function listenerByPid(
  socket: Descriptor,
  path: string,
  timeout: number,
  pid: number,
): Promise<ProcessHandle> {
  const process = new ProcessHandle(pid, heldByPid(pid));
  try {
    using again = await connect(socket, path, timeout);
    if (peerCredentials(again).pid === pid && holdsListeningSocket(process)) return process;
    throw new ProcessGoneError(pid);
  } catch (error) {
    process[Symbol.dispose]();
    throw error;
  }
}

function heldByPid(pid: number): Descriptor {
  try {
    return pidfdOpen(pid);
  } catch (error) {
    throw hasCode(error, 'ESRCH') ? new ProcessGoneError(pid) : error;
  }
}

async function connect(socket: Descriptor, path: string, timeout: number): Promise<Descriptor> {
  const deadline = performance.now() + timeout;
  for (;;) {
    try {
      return connectDescriptor(socket, path);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN')) throw error;
      if (performance.now() >= deadline) throw new NotAcceptingError(path, timeout);
      await sleep(pause);
    }
  }
}
