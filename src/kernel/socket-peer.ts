import { setTimeout as sleep } from 'node:timers/promises';
import type { Descriptor } from './descriptor.ts';
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
  const pidfd =
    peerPidfd(connection) ?? (await pidfdOfListener(socket, path, timeout, credentials));
  return { credentials, process: new ProcessHandle(credentials.pid, pidfd) };
}

/** Where the kernel gives no pidfd with the connection: the pid is right if it still listens once it is held. */
async function pidfdOfListener(
  socket: Descriptor,
  path: string,
  timeout: number,
  { pid }: PeerCredentials,
): Promise<Descriptor> {
  const pidfd = pidfdOpen(pid);
  try {
    using again = await connect(socket, path, timeout);
    if (peerCredentials(again).pid === pid) return pidfd;
    throw new ProcessGoneError(pid);
  } catch (error) {
    pidfd[Symbol.dispose]();
    throw error;
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
