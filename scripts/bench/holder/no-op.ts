import type { Comparison } from '../comparison.ts';
import { runOnce } from '../run-once.ts';
import type { HolderPrograms } from './programs.ts';

/** `--no-op`, and the least that the official binary can do. */
export function noOp({ all, emptyScript, measure }: HolderPrograms): Comparison {
  const commands = [...all.map((each) => ({ ...each, argv: ['--no-op'] })), emptyScript];
  return {
    name: 'no-op',
    figures: [
      { id: 'no-op-cpu', title: 'CPU of --no-op', unit: 'ms' },
      { id: 'no-op-time', title: 'time of --no-op', unit: 'ms' },
    ],
    contestants: commands.map(({ name, path, argv }) => ({
      name,
      measure: () => {
        const { cpu, time } = runOnce(measure, [path, ...argv]);
        return { 'no-op-cpu': cpu, 'no-op-time': time };
      },
    })),
    rounds: 51,
    warmUp: true,
  };
}
