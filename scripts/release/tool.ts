import { spawnSync } from 'node:child_process';
import { ReleaseError } from './release-error.ts';

/**
 * Runs a program to its end.
 *
 * @returns what it printed
 * @throws {ReleaseError} ETOOL with the end of what it said
 */
export function tool(command: string, argv: readonly string[], cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, argv, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (status === 0) return stdout;
  const why = error?.message ?? `exit ${status}: ${`${stdout}${stderr}`.trim().slice(-2000)}`;
  throw new ReleaseError('ETOOL', `${command} ${argv.join(' ')}: ${why}`);
}
