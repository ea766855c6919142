/** One step of a build as it is printed. */
interface Step {
  readonly name: string;
  readonly milliseconds: number;
  readonly bytes?: number;
  readonly cached?: boolean;
}

/** Prints each step of the build with its time and the size of what it made. */
export class Steps {
  readonly #start = performance.now();

  /** The last line: what was made, and the time of all steps. */
  total(name: string, bytes: number): void {
    this.#print({ name, milliseconds: performance.now() - this.#start, bytes });
  }

  #print({ name, milliseconds, bytes, cached }: Step): void {
    const size = bytes === undefined ? '' : `${(bytes / 1e6).toFixed(2)} MB`;
    const time = `${milliseconds.toFixed(0)} ms`;
    console.log(
      `${name.padEnd(28)} ${time.padStart(9)} ${size.padStart(11)}${cached ? '  (cached)' : ''}`,
    );
  }

  async run<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await work();
    const milliseconds = performance.now() - start;
    this.#print({ name, milliseconds, ...sizeOf(result) });
    return result;
  }
}

/** What a step made: bytes in memory, or an object that says its `size` and whether it was there already. */
function sizeOf(result: unknown): { bytes?: number; cached?: boolean } {
  if (result instanceof Uint8Array) return { bytes: result.byteLength };
  if (typeof result !== 'object' || result === null || !('size' in result)) return {};
  return { bytes: Number(result.size), cached: 'cached' in result && result.cached === true };
}
