/** How many things of a virtual machine are worked on together. */
const most = 16;

/**
 * Splits a list, in its order, into groups whose members can be worked on at the same time.
 *
 * @param keyOf what no two of a group may have in common
 */
export function groups<Item>(
  items: readonly Item[],
  keyOf: (item: Item, index: number) => string | number = (_, index) => index,
): Item[][] {
  const all: Item[][] = [];
  let keys = new Set<string | number>();
  items.forEach((item, index) => {
    const key = keyOf(item, index);
    const last = all.at(-1);
    if (last === undefined || last.length === most || keys.has(key)) {
      all.push([item]);
      keys = new Set([key]);
    } else {
      last.push(item);
      keys.add(key);
    }
  });
  return all;
}
