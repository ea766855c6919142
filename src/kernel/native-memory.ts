import { koffi } from './libc.ts';

/** Memory with an address, for structs that hold pointers. It is freed when it is disposed of. */
export class NativeMemory implements Disposable {
  readonly address: bigint;
  readonly bytes: Uint8Array;
  readonly #pointer: unknown;

  /** Zeroed memory. */
  constructor(length: number) {
    this.#pointer = koffi().alloc('uint8_t', Math.max(length, 1));
    this.address = koffi().address(this.#pointer);
    this.bytes = new Uint8Array(koffi().view(this.#pointer, Math.max(length, 1)), 0, length);
    this.bytes.fill(0);
  }

  static of(content: Uint8Array): NativeMemory {
    const memory = new NativeMemory(content.length);
    memory.bytes.set(content);
    return memory;
  }

  /** A copy, which outlives the memory. */
  copy(length = this.bytes.length): Buffer {
    return Buffer.from(this.bytes.subarray(0, length));
  }

  [Symbol.dispose](): void {
    koffi().free(this.#pointer);
  }
}
