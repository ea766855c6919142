import { join } from 'node:path';
import { Client, credentials, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const definition = loadSync(join(import.meta.dirname, 'cri.proto'), {
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
});

function serviceOf(name: string): ServiceDefinition {
  const found = definition[name];
  if (found === undefined || 'format' in found) throw new Error(`cri.proto has no service ${name}`);
  return found;
}

const service = serviceOf('runtime.v1.RuntimeService');

/** Calls of the Container Runtime Interface over a UNIX socket; messages have the fields of cri.proto. */
export class CriClient implements Disposable {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure());
  }

  /** Calls a method of RuntimeService. @throws the status of gRPC, with the runtime's message */
  call(name: string, request: object): Promise<Record<string, unknown>> {
    const method = service[name];
    if (method === undefined) throw new Error(`cri.proto has no method ${name}`);
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        { deadline: Date.now() + 60_000 },
        (error, response) => {
          if (error) reject(error);
          else resolve(response ?? {});
        },
      );
    });
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}
