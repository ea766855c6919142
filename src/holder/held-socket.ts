import { linkSync, lstatSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { Directory } from './directory.ts';
import { HolderError, isHolderError, isSystemError, printable } from './holder-error.ts';
import { type FileIdentity, occupant } from './occupant.ts';
import type { SocketPath } from './socket-path.ts';

/** How often a path that changes under our hands is looked at again. */
const publishAttempts = 10;

/** Above any `net.core.somaxconn` in use, so that the kernel's limit is the one that holds (listen(2)). */
const backlog = 65_535;

/**
 * A listening UNIX socket at a path, from the moment that it can be seen there.
 *
 * It is bound and listening under a temporary name before it gets its own, so whoever sees it can connect.
 * Connections are accepted and closed at once. SO_PEERCRED of unix(7) gives this process.
 */
export class HeldSocket {
  readonly location: SocketPath;
  readonly #server: Server;
  readonly #identity: FileIdentity;

  private constructor(location: SocketPath, server: Server, identity: FileIdentity) {
    this.location = location;
    this.#server = server;
    this.#identity = identity;
  }

  /**
   * Makes the socket. One that a killed process left at the path is replaced.
   *
   * @throws HolderError EINUSE, ENOTSOCKET, or the errno of the system call that failed; then nothing was changed
   */
  static async make(location: SocketPath): Promise<HeldSocket> {
    using directory = Directory.make(location.directory);
    await sweep(directory, location);
    const temporary = directory.entry(temporaryName(location));
    const server = await listen(temporary, location.path);
    try {
      const { dev, ino } = lstatSync(temporary);
      await publish(directory, temporary, location);
      return new HeldSocket(location, server, { dev, ino });
    } catch (error) {
      server.close();
      throw HolderError.from(error, 'cannot make the socket', location.path);
    } finally {
      unlinkIfThere(temporary);
    }
  }

  /** Whether the path still leads to this very socket. */
  isInPlace(): boolean {
    return identityIs(this.location.path, this.#identity);
  }

  /** Stops listening; what is at the path stays. */
  close(): void {
    this.#server.close();
  }

  /** Removes the socket from its path, unless something else has taken its place, and stops listening. */
  remove(): void {
    if (this.isInPlace()) unlinkIfThere(this.location.path);
    this.close();
  }
}

function listen(entry: string, path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    // Every connection is one too many: it is closed as it is accepted, and no stream is ever made for it.
    server.maxConnections = 0;
    // Once it listens, an error is that of one accept(2) (ECONNABORTED, EMFILE); the next connection is served.
    server.on('error', (error) => reject(HolderError.from(error, 'cannot make the socket', path)));
    server.listen({ path: entry, backlog }, () => resolve(server));
  });
}

/**
 * Gives the listening socket its name. link(2) never replaces anything; rename(2) replaces only what was found
 * to be a stale socket, at once, so that the path is never empty in between.
 */
async function publish(
  directory: Directory,
  temporary: string,
  { name, path }: SocketPath,
): Promise<void> {
  const final = directory.entry(name);
  for (let attempt = 0; attempt < publishAttempts; attempt += 1) {
    const found = await occupant(final, path);
    try {
      if (found.state === 'free') linkSync(temporary, final);
      else if (identityIs(final, found.identity)) renameSync(temporary, final);
      else continue;
      return;
    } catch (error) {
      if (!(isSystemError(error) && error.code === 'EEXIST')) throw error;
    }
  }
  throw new HolderError(
    'EINUSE',
    `cannot make the socket ${printable(path)}: what is at the path keeps changing`,
  );
}

function identityIs(path: string, { dev, ino }: FileIdentity): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status !== undefined && status.dev === dev && status.ino === ino;
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!(isSystemError(error) && error.code === 'ENOENT')) throw error;
  }
}

/** Removes the temporary names that a process killed while it made this same socket has left. */
async function sweep(directory: Directory, location: SocketPath): Promise<void> {
  const prefix = temporaryPrefix(location);
  for (const name of readdirSync(directory.path)) {
    if (!name.startsWith(prefix)) continue;
    try {
      const left = await occupant(directory.entry(name), location.path);
      if (left.state === 'stale') unlinkIfThere(directory.entry(name));
    } catch (error) {
      if (!isHolderError(error)) throw error;
    }
  }
}

function temporaryName(location: SocketPath): string {
  return temporaryPrefix(location) + process.hrtime.bigint().toString(36);
}

/** One prefix for each socket of a directory, short enough for `sun_path`: FNV-1a, 32 bits, of the socket's name. */
function temporaryPrefix({ name }: SocketPath): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return `.container-disk-${hash.toString(16).padStart(8, '0')}-`;
}
