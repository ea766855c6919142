import type { Comparison } from '../comparison.ts';
import type { HolderPrograms } from './programs.ts';
import { RunningHolder } from './running-holder.ts';

const megabyte = 1e6;

/** From its start to its end by the removal of its socket. */
export function start(programs: HolderPrograms): Comparison {
  return {
    name: 'start',
    figures: [
      { id: 'start-cpu', title: 'CPU until the socket accepts', unit: 'ms' },
      { id: 'start-time', title: 'time until the socket accepts', unit: 'ms' },
      { id: 'anonymous', title: 'anonymous memory', unit: 'MB' },
      { id: 'peak', title: 'peak memory, with pages of the file', unit: 'MB' },
      { id: 'threads', title: 'threads', unit: '' },
      { id: 'removal', title: 'removal of the socket to exit', unit: 'ms' },
    ],
    contestants: programs.all.map((program) => ({
      name: program.name,
      measure: async () => {
        await using holder = await RunningHolder.start(program, programs);
        return {
          'start-cpu': holder.start.cpu,
          'start-time': holder.start.time,
          anonymous: holder.status('RssAnon') / megabyte,
          peak: holder.status('VmHWM') / megabyte,
          threads: holder.status('Threads'),
          removal: await holder.remove(),
        };
      },
    })),
    rounds: 51,
    warmUp: true,
  };
}
