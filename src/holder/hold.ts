import { HeldSocket } from './held-socket.ts';
import { printable, reason, type SystemError } from './holder-error.ts';
import { RemovalWatch } from './removal-watch.ts';
import { socketPath } from './socket-path.ts';

/** What the holder tells while it runs, a line each. */
export type Notice = (line: string) => void;

/**
 * Holds a UNIX socket at `<copy path>.sock` for each copy path, until the last of them is gone or a signal comes.
 *
 * @param copyPaths as given with `--copy-path`, at least one
 * @param signal aborted to remove all sockets and return
 * @throws HolderError where a socket cannot be made; those that were made are removed again
 */
export async function hold(
  copyPaths: readonly string[],
  signal: AbortSignal,
  notice: Notice,
): Promise<void> {
  const locations = copyPaths.map(socketPath);
  const held = new Set<HeldSocket>();
  try {
    for (const location of locations) {
      held.add(await HeldSocket.make(location));
      if (signal.aborted) return;
    }
    await allGone(held, signal, notice);
  } finally {
    for (const socket of held) socket.remove();
  }
}

function allGone(held: Set<HeldSocket>, signal: AbortSignal, notice: Notice): Promise<void> {
  return new Promise((resolve) => {
    const watches = new DisposableStack();
    const done = () => {
      watches.dispose();
      resolve();
    };
    const look = (sockets: Iterable<HeldSocket>) => {
      for (const socket of sockets) {
        if (!held.has(socket) || socket.isInPlace()) continue;
        held.delete(socket);
        socket.close();
        notice(`the socket ${printable(socket.location.path)} is gone, it is no longer held`);
      }
      if (held.size === 0) done();
    };
    signal.addEventListener('abort', done, { once: true });
    for (const [directory, sockets] of byDirectory(held)) {
      const names = new Set(sockets.map(({ location }) => location.name));
      const polling = (error: SystemError) => {
        const shown = printable(directory);
        notice(`no inotify for ${shown}, looking once a second instead: ${reason(error)}`);
      };
      watches.use(new RemovalWatch(directory, names, () => look(sockets), polling));
    }
    look(held);
  });
}

function byDirectory(held: Iterable<HeldSocket>): Map<string, HeldSocket[]> {
  const groups = new Map<string, HeldSocket[]>();
  for (const socket of held) {
    const { directory } = socket.location;
    const group = groups.get(directory);
    if (group) group.push(socket);
    else groups.set(directory, [socket]);
  }
  return groups;
}
