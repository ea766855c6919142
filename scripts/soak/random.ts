/** Numbers of a seed, the same every time: xorshift of 32 bits (Marsaglia, "Xorshift RNGs"). */
export class Random {
  #state: number;

  /** @param seed other than 0 */
  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** A whole number of 0 to below `limit`. */
  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }
}
