import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Compiles a program of `peers` with gcc. @returns its path */
export function compile(name: string, directory: string, ...flags: string[]): string {
  const output = join(directory, [name, ...flags].join(''));
  const source = join(import.meta.dirname, 'peers', `${name}.c`);
  execFileSync('gcc', ['-O2', '-Wall', '-Wextra', '-Werror', ...flags, source, '-o', output], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return output;
}
