import { execFileSync } from 'node:child_process';
import type { Comparison } from '../comparison.ts';
import type { HolderProgram, HolderPrograms } from './programs.ts';
import type { RunningHolder } from './running-holder.ts';

const megabyte = 1e6;
const connections = 10_000;

/** A client in C that connects again and again, 16 at a time, until the holder has closed all of them. */
export function connecting(
  { connect }: HolderPrograms,
  holders: ReadonlyMap<HolderProgram, RunningHolder>,
): Comparison {
  return {
    name: 'connections',
    figures: [
      { id: 'connections', title: 'connections per second', unit: '/s' },
      { id: 'refused', title: `refused of ${connections}`, unit: '' },
      { id: 'anonymous-after', title: 'anonymous memory after them', unit: 'MB' },
    ],
    contestants: Array.from(holders, ([{ name }, holder]) => ({
      name,
      measure: () => {
        const argv = [holder.socket, String(connections)];
        const output = execFileSync(connect, argv, { encoding: 'utf8' });
        const [nanoseconds = Number.NaN, refused = Number.NaN] = output.split(' ').map(Number);
        return {
          connections: connections / (nanoseconds / 1e9),
          refused,
          'anonymous-after': holder.status('RssAnon') / megabyte,
        };
      },
    })),
    rounds: 11,
    warmUp: false,
  };
}
