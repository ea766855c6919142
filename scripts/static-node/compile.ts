import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { StaticNodeError, unfit } from './static-node-error.ts';

/**
 * Runs the compiler driver, which runs the assembler or the linker.
 *
 * @throws StaticNodeError EUNFIT where the linker misses a symbol, ELINK with the line that says why
 */
export async function compile(argv: readonly string[], directory: string): Promise<void> {
  const child = spawn('g++', argv, {
    cwd: directory,
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'exit').catch((cause) => {
    throw new StaticNodeError('ELINK', `cannot run g++: ${cause.message}`, { cause });
  });
  const [stderr, [status, signal]] = await Promise.all([text(child.stderr), exit]);
  if (status === 0) return;
  const names = Array.from(
    stderr.matchAll(/undefined reference to `([^']+)'/g),
    ([, name]) => name,
  );
  if (names.length > 0) {
    throw unfit(`no static archive defines, and the link needs: ${[...new Set(names)].join(', ')}`);
  }
  const lines = stderr.trim().split('\n').filter(Boolean);
  const said = lines.filter((line) => !line.startsWith('collect2:'));
  const why = said.find((line) => /error|overlap|failed/i.test(line)) ?? said.at(-1);
  throw new StaticNodeError('ELINK', `the link failed: ${why ?? `exit ${status ?? signal}`}`);
}
