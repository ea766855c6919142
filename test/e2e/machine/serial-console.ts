import { SocketLines } from './socket-lines.ts';

/** The other end of a guest's serial line, a UNIX socket. */
export class SerialConsole implements Disposable {
  readonly #lines: SocketLines<string>;

  private constructor(lines: SocketLines<string>) {
    this.#lines = lines;
  }

  static async connect(path: string): Promise<SerialConsole> {
    return new SerialConsole(await SocketLines.connect(path, (text) => text.trimEnd()));
  }

  /** The next line that matches, and its groups. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#lines.arrived.next(
      (line) => pattern.exec(line) ?? undefined,
      `line like ${pattern}`,
    );
  }

  send(line: string): void {
    this.#lines.write(line);
  }

  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
  }
}
