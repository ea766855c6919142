import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Comparison } from '../comparison.ts';
import { runOnce } from '../run-once.ts';
import type { HolderPrograms } from './programs.ts';

const megabyte = 1e6;

/** Each copies itself. */
export function copyStep({ all, measure, scratch }: HolderPrograms): Comparison {
  const destination = join(scratch, 'copied');
  return {
    name: 'copy',
    figures: [
      { id: 'copy-time', title: 'time of the copy step', unit: 'ms' },
      { id: 'copy-cpu', title: 'CPU of the copy step', unit: 'ms' },
      { id: 'copy-written', title: 'written by the copy step', unit: 'MB' },
    ],
    contestants: all.map(({ name, path }) => ({
      name,
      measure: () => {
        try {
          const { cpu, time, written } = runOnce(measure, [path, 'copy', destination]);
          if (statSync(destination).size !== statSync(path).size) {
            throw new Error(`${name} made a copy of another size`);
          }
          return { 'copy-time': time, 'copy-cpu': cpu, 'copy-written': written / megabyte };
        } finally {
          rmSync(destination, { force: true });
        }
      },
    })),
    rounds: 7,
    warmUp: false,
  };
}
