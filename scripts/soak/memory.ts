import type { Usage } from './mounter-process.ts';

/** What a process used at a time. */
export interface Sample extends Usage {
  /** Milliseconds. */
  readonly time: number;
}

/** How a figure went over the second half of a run, when all caches are filled. */
export interface Trend {
  readonly first: number;
  readonly last: number;
  readonly most: number;
  /** Per minute, by least squares. */
  readonly slope: number;
}

export function trend(samples: readonly Sample[], figure: keyof Usage): Trend {
  const half = samples.slice(Math.floor(samples.length / 2));
  const values = half.map((sample) => sample[figure]);
  const minutes = half.map(({ time }) => time / 60_000);
  const [meanX, meanY] = [mean(minutes), mean(values)];
  const covariance = mean(half.map((_, index) => at(minutes, index) * at(values, index)));
  const variance = mean(minutes.map((minute) => minute * minute)) - meanX * meanX;
  return {
    first: at(values, 0),
    last: at(values, values.length - 1),
    most: Math.max(...samples.map((sample) => sample[figure])),
    slope: variance > 0 ? (covariance - meanX * meanY) / variance : 0,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function at(values: readonly number[], index: number): number {
  return values[index] ?? Number.NaN;
}
