import { spawnSync } from 'node:child_process';

/** What a process used from its start to its end: milliseconds, and bytes. */
export interface Usage {
  readonly cpu: number;
  readonly time: number;
  readonly written: number;
}

/**
 * Runs a program that has to end with 0.
 *
 * @param measure peers/measure.c, compiled
 */
export function runOnce(measure: string, command: readonly string[]): Usage {
  const { stdout, stderr, error } = spawnSync(measure, ['once', ...command], { encoding: 'utf8' });
  const [code, cpu = Number.NaN, time = Number.NaN, written = Number.NaN] = stdout
    .split(' ')
    .map(Number);
  if (code !== 0) throw error ?? new Error(`${command.join(' ')} ended with ${code}: ${stderr}`);
  return { cpu: cpu / 1e6, time: time / 1e6, written };
}
