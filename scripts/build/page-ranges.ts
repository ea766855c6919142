/** Ranges, as start and length, that hold the pages at the given addresses, and what lies between near ones. */
export function cutIntoRanges(
  addresses: readonly number[],
  page: number,
  longestGap: number,
): [start: number, length: number][] {
  const ranges: [number, number][] = [];
  for (const address of [...new Set(addresses)].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && address - (last[0] + last[1]) <= longestGap) last[1] = address + page - last[0];
    else ranges.push([address, page]);
  }
  return ranges;
}
