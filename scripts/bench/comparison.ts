import { type Summary, summarize } from './statistics.ts';

/** One thing that is measured. */
export interface Figure {
  /** By which other parts of the benchmark and its JSON know it. */
  readonly id: string;
  readonly title: string;
  readonly unit: string;
}

/** What one measurement found, by the id of the figure. */
export type Reading = Readonly<Record<string, number>>;

/** One of those that are compared. */
export interface Contestant {
  readonly name: string;
  measure(): Reading | Promise<Reading>;
}

/** Contestants that are measured in turn, with what is measured of each. */
export interface Comparison {
  readonly name: string;
  readonly figures: readonly Figure[];
  readonly contestants: readonly Contestant[];
  /** How often each is measured, where the user does not say. */
  readonly rounds: number;
  /** Whether there is a round before the first that does not count. */
  readonly warmUp: boolean;
}

/** A figure of a contestant. */
export interface Result {
  readonly comparison: string;
  readonly figure: string;
  readonly title: string;
  readonly unit: string;
  readonly contestant: string;
  readonly summary: Summary;
  readonly samples: readonly number[];
}

/**
 * Measures each contestant once a round, and in another order every round, so that what else the machine does meets
 * all of them alike.
 *
 * @param rounds in place of the comparison's own
 */
export async function compare(
  { name, figures, contestants, warmUp, ...own }: Comparison,
  rounds = own.rounds,
): Promise<Result[]> {
  const samples = new Map<string, number[]>();
  for (let round = warmUp ? -1 : 0; round < rounds; round += 1) {
    for (const index of contestants.keys()) {
      const contestant = contestants[(index + Math.max(round, 0)) % contestants.length];
      const reading = await contestant?.measure();
      if (round < 0 || contestant === undefined) continue;
      for (const [figure, value] of Object.entries(reading ?? {})) {
        const key = `${contestant.name}\0${figure}`;
        samples.set(key, [...(samples.get(key) ?? []), value]);
      }
    }
  }
  return figures.flatMap(({ id, title, unit }) =>
    contestants.flatMap(({ name: contestant }) => {
      const found = samples.get(`${contestant}\0${id}`);
      if (found === undefined) return [];
      const summary = summarize(found);
      return [{ comparison: name, figure: id, title, unit, contestant, summary, samples: found }];
    }),
  );
}
