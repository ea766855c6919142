import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkStatic } from '../static-node/index.ts';

/**
 * Holds the program to what it was made for: no loader, no library, and it starts where nothing else is.
 *
 * An ordinary user needs user namespaces for the second (user_namespaces(7)).
 *
 * @returns what could not be tried here, and why
 */
export function verify(program: string, version: string): string | undefined {
  checkStatic(program);
  const root = mkdtempSync(join(tmpdir(), 'container-disk-root-'));
  try {
    cpSync(program, join(root, 'container-disk'));
    const user = process.getuid?.() === 0 ? [] : ['--map-root-user'];
    const argv = [...user, '--root', root, '/container-disk', '--version'];
    let printed: string;
    try {
      printed = execFileSync('unshare', argv, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    } catch (error) {
      const missing = isMissing(error);
      if (missing) return missing;
      throw error;
    }
    if (printed !== `${version}\n`) {
      throw new Error(
        `${program} printed ${JSON.stringify(printed)} in an empty root, not its version`,
      );
    }
    return undefined;
  } finally {
    rmSync(root, { recursive: true });
  }
}

function isMissing(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && error.code === 'ENOENT') return 'no unshare (apt-get install util-linux)';
  const stderr = 'stderr' in error ? String(error.stderr) : '';
  if (stderr.includes('unshare failed'))
    return `no user namespace for this user (${stderr.trim()})`;
  return undefined;
}
