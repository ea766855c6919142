import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Result } from './comparison.ts';

/** Colours that differ in brightness, too (Okabe and Ito). */
const colours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00'];

/** Figures of the holder that a bar tells enough of. */
const bars = ['start-cpu', 'no-op-cpu', 'anonymous', 'size', 'removal', 'connections'];

const common = {
  background: 'white',
  config: {
    font: 'sans-serif',
    view: { stroke: null },
    range: { category: colours },
    axis: { grid: true, gridColor: '#e5e5e5' },
  },
} as const;

/** Writes what was measured as SVG files. @returns their paths */
export async function writePlots(results: readonly Result[], directory: string): Promise<string[]> {
  mkdirSync(directory, { recursive: true });
  const plots = {
    'holder.svg': holderPlot(results),
    'disks.svg': countPlot(results, 'disks', 'CPU per disk'),
    'other-mounts.svg': countPlot(results, 'other-mounts', 'CPU per disk on a host'),
    'hotplug.svg': countPlot(results, 'hotplug', 'CPU per disk'),
  };
  const written: string[] = [];
  for (const [name, plot] of Object.entries(plots)) {
    if (plot === undefined) continue;
    const path = join(directory, name);
    const view = new View(parse(compile(plot).spec), { renderer: 'none' });
    writeFileSync(path, `${await view.toSVG()}\n`);
    written.push(path);
  }
  return written;
}

/** A row of bars for each figure, with a line from the first to the third quartile. */
function holderPlot(results: readonly Result[]): TopLevelSpec | undefined {
  const groups = bars.flatMap((figure) => {
    const found = results.filter((each) => each.figure === figure);
    return found.length > 0 ? [found] : [];
  });
  if (groups.length === 0) return undefined;
  return {
    ...common,
    columns: 2,
    spacing: { row: 30, column: 30 },
    resolve: { scale: { x: 'independent', y: 'independent' } },
    concat: groups.map((found) => {
      const [{ title = '', unit = '' } = {}] = found;
      const y = { field: 'contestant', type: 'nominal', sort: null, title: null } as const;
      return {
        title: { text: unit === '' ? title : `${title}, ${unit}`, anchor: 'start' },
        width: 240,
        data: { values: found.map(values) },
        layer: [
          {
            mark: { type: 'bar', color: colours[0] ?? 'blue' },
            encoding: { y, x: { field: 'median', type: 'quantitative', title: null } },
          },
          {
            mark: { type: 'rule', color: 'black' },
            encoding: { y, x: { field: 'low', type: 'quantitative' }, x2: { field: 'high' } },
          },
        ],
      };
    }),
  } as TopLevelSpec;
}

/** What a disk takes by how many there are, a chart for each verb. */
function countPlot(
  results: readonly Result[],
  comparison: string,
  title: string,
): TopLevelSpec | undefined {
  const found = results
    .filter((each) => each.comparison === comparison)
    .flatMap((result) => {
      const [, verb, disks] = /^(\w+)-cpu-(\d+)$/.exec(result.figure) ?? [];
      return verb === undefined ? [] : [{ ...values(result), verb, disks: Number(disks) }];
    });
  if (found.length === 0) return undefined;
  const x = { field: 'disks', type: 'quantitative', scale: { type: 'log' }, title: 'disks' };
  const y = { type: 'quantitative', scale: { type: 'log' }, title: `${title}, µs` };
  const color = { field: 'contestant', type: 'nominal', sort: null, title: null };
  return {
    ...common,
    data: { values: found },
    facet: { field: 'verb', type: 'nominal', sort: null, title: null },
    columns: 2,
    spec: {
      width: 260,
      height: 180,
      layer: [
        {
          mark: { type: 'line', point: true },
          encoding: { x, y: { ...y, field: 'median' }, color },
        },
        {
          mark: { type: 'rule' },
          encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color },
        },
      ],
    },
  } as TopLevelSpec;
}

function values({ contestant, summary: { median, quartiles } }: Result) {
  const [low, high] = quartiles;
  return { contestant, median, low, high };
}
