import { execFileSync } from 'node:child_process';
import type { Test } from 'tap';
import { temporaryDirectory } from './temporary-directory.ts';

/** A small file system of the test's own, mounted with the options of mount(8). */
export function tmpfs(t: Test, options: string): string {
  const directory = temporaryDirectory(t);
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]);
  t.teardown(() => execFileSync('umount', ['-l', directory]));
  return directory;
}
