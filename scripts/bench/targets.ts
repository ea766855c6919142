import type { Result } from './comparison.ts';
import { emptyScript, official, ours } from './holder/programs.ts';
import { amongOthers } from './mounter/among-others.ts';
import { library, mountLoop, mountProgram } from './mounter/disks.ts';
import { verbs } from './mounter/library-process.ts';
import { numberText } from './number-text.ts';

/** A figure that is to be reached. */
export interface Target {
  readonly figure: string;
  readonly target: string;
  readonly measured: string;
  readonly isReached: boolean;
}

/** What was measured of a figure of a contestant; undefined where nothing was. */
type Measured = (figure: string, contestant: string) => number | undefined;

interface Goal {
  readonly figure: string;
  readonly unit: string;
  readonly most?: number;
  readonly least?: number;
  /** @returns undefined where it was not measured */
  measured(median: Measured, longest: Measured): number | undefined;
}

const goals: readonly Goal[] = [
  {
    figure: 'CPU until the socket accepts, against the official Node.js with the same bundle',
    unit: 'times',
    most: 0.8,
    measured: (median) => ratio(median('start-cpu', ours), median('start-cpu', official)),
  },
  {
    figure: 'CPU of --no-op, against node -e 0 of the official binary',
    unit: 'times',
    most: 1,
    measured: (median) => ratio(median('no-op-cpu', ours), median('no-op-cpu', emptyScript)),
  },
  {
    figure: 'anonymous memory',
    unit: 'MB',
    most: 10,
    measured: (median) => median('anonymous', ours),
  },
  { figure: 'file', unit: 'MB', most: 85, measured: (median) => median('size', ours) },
  { figure: 'threads', unit: '', most: 3, measured: (median) => median('threads', ours) },
  {
    figure: 'wake-ups a minute when idle',
    unit: '',
    most: 0,
    measured: (median) => median('wake-ups', ours),
  },
  {
    figure: 'removal to exit, median',
    unit: 'ms',
    most: 5,
    measured: (median) => median('removal', ours),
  },
  {
    figure: 'removal to exit, the longest',
    unit: 'ms',
    most: 20,
    measured: (_median, longest) => longest('removal', ours),
  },
  {
    figure: 'connections a second',
    unit: '',
    least: 10_000,
    measured: (median) => median('connections', ours),
  },
  {
    figure: 'connections refused',
    unit: '',
    most: 0,
    measured: (median) => median('refused', ours),
  },
  {
    figure: 'mount: CPU of mount(8) for a disk, against the library, of 10 disks',
    unit: 'times',
    least: 10,
    measured: (median) =>
      ratio(median('mount-cpu-10', mountProgram), median('mount-cpu-10', library)),
  },
  {
    figure: 'mount: CPU of the library for a disk, against the C loop, of 10 disks',
    unit: 'times',
    most: 3,
    measured: (median) => ratio(median('mount-cpu-10', library), median('mount-cpu-10', mountLoop)),
  },
  ...verbs.map((verb) => ({
    figure: `${verb}: CPU for a disk of 1,000, against one of 10`,
    unit: 'times',
    most: 1.2,
    measured: (median: Measured) =>
      ratio(median(`${verb}-cpu-1000`, library), median(`${verb}-cpu-10`, library)),
  })),
  ...verbs.map((verb) => ({
    figure: `${verb}: the same, the 1,000 among 5,000 other mounts and the 10 among 50`,
    unit: 'times',
    most: 1.2,
    measured: (median: Measured) =>
      ratio(
        median(`${verb}-cpu-1000`, amongOthers(5000)),
        median(`${verb}-cpu-10`, amongOthers(50)),
      ),
  })),
];

/** What of the goals was measured. */
export function targets(results: readonly Result[]): Target[] {
  const found = (which: 'median' | 'max'): Measured => {
    return (figure, contestant) =>
      results.find((each) => each.figure === figure && each.contestant === contestant)?.summary[
        which
      ];
  };
  return goals.flatMap(({ figure, unit, most, least, measured }) => {
    const value = measured(found('median'), found('max'));
    if (value === undefined) return [];
    const text = (number: number) => `${numberText(number)} ${unit}`.trim();
    return [
      {
        figure,
        target: most === undefined ? `at least ${text(least ?? 0)}` : `at most ${text(most)}`,
        measured: text(value),
        isReached: value <= (most ?? Number.POSITIVE_INFINITY) && value >= (least ?? 0),
      },
    ];
  });
}

function ratio(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one / other;
}
