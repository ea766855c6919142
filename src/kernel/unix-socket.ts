import { Descriptor, descriptorPath } from './descriptor.ts';
import { call } from './libc.ts';
import { hasCode } from './syscall-error.ts';

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** Linux 6.5. */
const SO_PEERPIDFD = 77;

/** Length of `sun_path`. */
const pathLength = 108;

/** `struct sockaddr_un`: sun_family, 16 bits, and sun_path. */
const address = Buffer.alloc(2 + pathLength);
address.writeUInt16LE(AF_UNIX);

/** The value and the length of a socket option. */
const value = Buffer.alloc(12);
const length = Buffer.alloc(4);

/** `struct ucred` of unix(7): who listens at the other side of a connection, as this process's namespaces see it. */
export interface PeerCredentials {
  /** 0 where the process is not in this pid namespace, or below it. */
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Connects to a listening socket that is open with O_PATH. The connection does not wait: while the backlog is
 * full, connect(2) says EAGAIN.
 *
 * @param path the socket's path, for messages
 * @throws SyscallError ECONNREFUSED where nobody listens, EAGAIN
 */
export function connectDescriptor(socket: Descriptor, path: string): Descriptor {
  const connection = new Descriptor(
    call(
      'int socket(int domain, int type, int protocol)',
      'socket',
      undefined,
      AF_UNIX,
      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
      0,
    ),
  );
  try {
    const end = 2 + address.write(descriptorPath(socket.number), 2, 'latin1');
    address.fill(0, end);
    call(
      'int connect(int fd, const uint8_t *address, unsigned int length)',
      'connect',
      path,
      connection.number,
      address,
      address.length,
    );
    return connection;
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
}

/** SO_PEERCRED of unix(7): three 32-bit numbers. */
export function peerCredentials(connection: Descriptor): PeerCredentials {
  const ucred = socketOption(connection, SO_PEERCRED, 12);
  return { pid: ucred.readInt32LE(0), uid: ucred.readUInt32LE(4), gid: ucred.readUInt32LE(8) };
}

/** SO_PEERPIDFD: a pidfd of the process that listens; undefined where the kernel has no such option. */
export function peerPidfd(connection: Descriptor): Descriptor | undefined {
  try {
    return new Descriptor(socketOption(connection, SO_PEERPIDFD, 4).readInt32LE(0));
  } catch (error) {
    if (hasCode(error, 'ENOPROTOOPT')) return undefined;
    throw error;
  }
}

/** @returns memory that the next call uses again */
function socketOption(connection: Descriptor, option: number, size: number): Buffer {
  length.writeUInt32LE(size);
  call(
    'int getsockopt(int fd, int level, int name, _Inout_ uint8_t *value, _Inout_ uint8_t *length)',
    'getsockopt',
    undefined,
    connection.number,
    SOL_SOCKET,
    option,
    value,
    length,
  );
  return value;
}
