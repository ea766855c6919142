import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Arrivals } from './arrivals.ts';

/** A UNIX socket that lines are read from and written to. */
export class SocketLines<Line> implements Disposable {
  readonly #socket: Socket;
  readonly arrived = new Arrivals<Line>();

  private constructor(socket: Socket, parse: (text: string) => Line) {
    this.#socket = socket;
    const lines = createInterface({ input: socket });
    lines.on('line', (text) => this.arrived.push(parse(text)));
    // The interface passes on the errors of its input, as when QEMU is killed.
    lines.on('error', (error) => this.arrived.end(error));
    lines.once('close', () => this.arrived.end(new Error('QEMU has closed the socket')));
  }

  static async connect<Line>(
    path: string,
    parse: (text: string) => Line,
  ): Promise<SocketLines<Line>> {
    return new SocketLines(await connected(path), parse);
  }

  write(line: string): void {
    this.#socket.write(`${line}\n`);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Connects, once whoever has made the socket listens on it. */
async function connected(path: string): Promise<Socket> {
  for (let attempt = 0; ; attempt += 1) {
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      const isEarly = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
      if (!isEarly || attempt === 1000) throw error;
      await sleep(5);
    }
  }
}
