import { groups, type Run } from '../run.ts';
import { connecting } from './connections.ts';
import { copyStep } from './copy-step.ts';
import { idle } from './idle.ts';
import { noOp } from './no-op.ts';
import { type HolderProgram, type HolderPrograms, holderPrograms } from './programs.ts';
import { RunningHolder } from './running-holder.ts';
import { size } from './size.ts';
import { start } from './start.ts';

/** Measures `container-disk` beside its peers. */
export async function benchHolder(run: Run, scratch: string): Promise<void> {
  if (!run.wants(...groups.holder)) return;
  run.tell('making the peers of the holder');
  const programs = await holderPrograms(scratch);
  await run.measure('start', () => start(programs));
  await run.measure('no-op', () => noOp(programs));
  await run.measure('copy', () => copyStep(programs));
  await run.measure('size', () => size(programs));
  if (!run.wants('idle', 'connections')) return;
  await using holders = await RunningHolders.start(programs);
  await run.measure('idle', () => idle(holders.byProgram));
  await run.measure('connections', () => connecting(programs, holders.byProgram));
}

/** One of each at once. */
class RunningHolders implements AsyncDisposable {
  readonly byProgram = new Map<HolderProgram, RunningHolder>();

  static async start(programs: HolderPrograms): Promise<RunningHolders> {
    const holders = new RunningHolders();
    try {
      for (const program of programs.all) {
        holders.byProgram.set(program, await RunningHolder.start(program, programs));
      }
      return holders;
    } catch (error) {
      await holders[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const holder of this.byProgram.values()) await holder[Symbol.asyncDispose]();
  }
}
