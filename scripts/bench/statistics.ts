/** What a number of samples come to. */
export interface Summary {
  readonly count: number;
  readonly median: number;
  /** First and third quartile: half of the samples lie between. */
  readonly quartiles: readonly [number, number];
  readonly min: number;
  readonly max: number;
}

/** @param samples at least one */
export function summarize(samples: readonly number[]): Summary {
  if (samples.length === 0) throw new RangeError('there is nothing to summarize');
  const sorted = samples.toSorted((a, b) => a - b);
  return {
    count: sorted.length,
    median: quantile(sorted, 0.5),
    quartiles: [quantile(sorted, 0.25), quantile(sorted, 0.75)],
    min: quantile(sorted, 0),
    max: quantile(sorted, 1),
  };
}

/** Linear between the two samples that are nearest. */
function quantile(sorted: readonly number[], part: number): number {
  const position = (sorted.length - 1) * part;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}
