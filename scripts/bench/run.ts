import { type Comparison, compare, type Result } from './comparison.ts';

/** What is compared, by the program that it is about. */
export const groups = {
  holder: ['start', 'no-op', 'copy', 'size', 'idle', 'connections'],
  mounter: ['process', 'disks', 'other-mounts', 'calls', 'hotplug'],
} as const;

export type Group = keyof typeof groups;
export type ComparisonName = (typeof groups)[Group][number];

const names: readonly string[] = [...Object.keys(groups), ...Object.values(groups).flat()];

/** What the user asks for. */
export interface RunOptions {
  /** Names of comparisons or groups; empty for all. */
  readonly only: readonly string[];
  /** In place of each comparison's own. */
  readonly rounds: number | undefined;
}

/** A run of the benchmark, and what it has found so far. */
export class Run {
  readonly results: Result[] = [];
  readonly options: RunOptions;

  /** @throws Error where `only` has a name that nothing has */
  constructor(options: RunOptions) {
    const unknown = options.only.find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw new Error(`nothing is called ${unknown}: choose from ${names.join(', ')}`);
    }
    this.options = options;
  }

  wants(...some: readonly ComparisonName[]): boolean {
    const { only } = this.options;
    const isWanted = (name: ComparisonName) =>
      only.includes(name) ||
      Object.entries(groups).some(
        ([group, members]) => only.includes(group) && members.some((member) => member === name),
      );
    return only.length === 0 || some.some(isWanted);
  }

  /** Makes a comparison if it is wanted. */
  async measure(
    name: ComparisonName,
    prepare: () => Comparison | Promise<Comparison>,
  ): Promise<void> {
    if (!this.wants(name)) return;
    this.tell(name);
    this.results.push(...(await compare(await prepare(), this.options.rounds)));
  }

  /** What it does now, past the results. */
  tell(step: string): void {
    console.error(`bench: ${step}`);
  }
}
