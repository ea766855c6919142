/** The longest that anything in a virtual machine may take on a loaded machine, in milliseconds. */
const patience = 90_000;

interface Waiting<Item> {
  /** Whether it is what was waited for. */
  readonly take: (item: Item) => boolean;
  readonly reject: (error: Error) => void;
}

/** What arrives from elsewhere, each taken by whoever waits for it, before or after it arrives. */
export class Arrivals<Item> {
  readonly #items: Item[] = [];
  readonly #waiting = new Set<Waiting<Item>>();
  #end: Error | undefined;

  push(item: Item): void {
    for (const waiting of this.#waiting) {
      if (!waiting.take(item)) continue;
      // At once: what arrives in the same moment is not for this one.
      this.#waiting.delete(waiting);
      return;
    }
    this.#items.push(item);
  }

  /** Nothing arrives any more. */
  end(error: Error): void {
    const before = JSON.stringify(this.#items);
    this.#end ??= new Error(`${error.message}; what had come: ${before}`, { cause: error });
    for (const { reject } of this.#waiting) reject(this.#end);
  }

  /**
   * The first that matches; those before it stay.
   *
   * @param match what is made of an item, undefined where it is another
   * @param what is waited for, in the message of the error
   */
  async next<Result>(match: (item: Item) => Result | undefined, what: string): Promise<Result> {
    for (const [index, item] of this.#items.entries()) {
      const result = match(item);
      if (result === undefined) continue;
      this.#items.splice(index, 1);
      return result;
    }
    if (this.#end) throw this.#end;
    return this.#wait(match, what);
  }

  #wait<Result>(match: (item: Item) => Result | undefined, what: string): Promise<Result> {
    return new Promise((resolve, reject) => {
      const late = () => {
        const others = JSON.stringify(this.#items);
        fail(new Error(`no ${what} in ${patience} ms; what else came: ${others}`));
      };
      const timer = setTimeout(late, patience);
      const fail = (error: Error) => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        reject(error);
      };
      const take = (item: Item): boolean => {
        const result = match(item);
        if (result === undefined) return false;
        clearTimeout(timer);
        resolve(result);
        return true;
      };
      const waiting: Waiting<Item> = { take, reject: fail };
      this.#waiting.add(waiting);
    });
  }
}
