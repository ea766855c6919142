import { setTimeout as sleep } from 'node:timers/promises';
import type { Comparison } from '../comparison.ts';
import type { HolderProgram } from './programs.ts';
import type { RunningHolder } from './running-holder.ts';

/** Seconds that all of them are left alone, at once, as none of them does anything. */
const duration = 20;

/** Counts first, so that what follows only says what was found. */
export async function idle(
  holders: ReadonlyMap<HolderProgram, RunningHolder>,
): Promise<Comparison> {
  const count = () => Array.from(holders.values(), (holder) => holder.contextSwitches());
  const before = count();
  await sleep(duration * 1000);
  const after = count();
  return {
    name: 'idle',
    figures: [{ id: 'wake-ups', title: 'wake-ups per minute when idle', unit: '/min' }],
    contestants: Array.from(holders.keys(), ({ name }, index) => ({
      name,
      measure: () => {
        const switches = (after[index] ?? Number.NaN) - (before[index] ?? Number.NaN);
        return { 'wake-ups': (switches * 60) / duration };
      },
    })),
    rounds: 1,
    warmUp: false,
  };
}
