import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Arrivals } from './arrivals.ts';

/** The other end of a guest's serial line (`-chardev socket`). */
export class SerialConsole implements Disposable {
  readonly #socket: Socket;
  readonly #lines = new Arrivals<string>();
  /** All that the guest has written. */
  transcript = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    const lines = createInterface({ input: socket });
    lines.on('line', (line) => {
      this.transcript += `${line}\n`;
      this.#lines.push(line.trimEnd());
    });
    lines.once('close', () => {
      this.#lines.end(
        new Error(`the serial line was closed; the guest wrote:\n${this.transcript}`),
      );
    });
    socket.on('error', (error) => this.#lines.end(error));
  }

  static async connect(path: string): Promise<SerialConsole> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new SerialConsole(socket);
  }

  /** The next line that matches, and its groups. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#lines.next((line) => pattern.exec(line) ?? undefined, `line like ${pattern}`);
  }

  send(line: string): void {
    this.#socket.write(`${line}\n`);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
