import { SocketLines } from './socket-lines.ts';

/** What QEMU says of a command that it did not carry out. */
export class QmpError extends Error {
  /** The error's class, for instance `GenericError`. */
  readonly code: string;

  constructor(command: string, { class: code, desc }: { class: string; desc: string }) {
    super(`QMP ${command}: ${desc}`);
    this.name = 'QmpError';
    this.code = code;
  }
}

interface Message {
  readonly QMP?: object;
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly class: string; readonly desc: string };
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** QEMU's monitor: QMP over a UNIX socket, one JSON object per line (QEMU's docs/interop/qmp-spec). */
export class QmpClient implements Disposable {
  readonly #messages: SocketLines<Message>;
  #commands = 0;

  private constructor(messages: SocketLines<Message>) {
    this.#messages = messages;
  }

  /** Connects and leaves the negotiation of capabilities, after which commands are taken. */
  static async connect(path: string): Promise<QmpClient> {
    const client = new QmpClient(
      await SocketLines.connect<Message>(path, (text) => JSON.parse(text)),
    );
    await client.#messages.arrived.next(({ QMP }) => QMP, 'greeting');
    await client.execute('qmp_capabilities');
    return client;
  }

  /** @throws QmpError where QEMU refuses */
  async execute(command: string, words: object = {}): Promise<unknown> {
    this.#commands += 1;
    const id = this.#commands;
    this.#messages.write(JSON.stringify({ execute: command, arguments: words, id }));
    const answer = await this.#messages.arrived.next(
      (message) => (message.id === id ? message : undefined),
      `answer to ${command}`,
    );
    if (answer.error) throw new QmpError(command, answer.error);
    return answer.return;
  }

  /** Waits for an event whose data has these values. */
  async event(name: string, data: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.#messages.arrived.next(
      (message) =>
        message.event === name &&
        Object.entries(data).every(([key, value]) => message.data?.[key] === value)
          ? message
          : undefined,
      `event ${name}`,
    );
  }

  [Symbol.dispose](): void {
    this.#messages[Symbol.dispose]();
  }
}
