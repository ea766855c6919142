import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Result } from '../comparison.ts';
import { groups, type Run } from '../run.ts';

/**
 * The node's directories are on a tmpfs, as the records are on a node (`/run`): a disk's file system would be measured
 * along, and ext4 takes its time to make files where some were removed in the last seconds.
 */
const inNamespace = 'mount -t tmpfs -o mode=0755 benchmark "$TMPDIR" && exec "$@"';

/** Measures the mounter beside its peers, in a process with a mount namespace of its own. */
export async function benchMounter(run: Run, scratch: string): Promise<void> {
  if (!run.wants(...groups.mounter)) return;
  if (process.getuid?.() !== 0) throw new Error('the mounter can be measured as root only');
  const directory = join(scratch, 'node');
  mkdirSync(directory);
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'private'],
      ...['sh', '-c', inNamespace, 'sh', process.execPath],
      join(import.meta.dirname, 'main.ts'),
      JSON.stringify({ ...run.options, scratch }),
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      env: { ...process.env, TMPDIR: directory },
    },
  );
  const { 3: pipe } = child.stdio;
  if (pipe === null || pipe === undefined || !('read' in pipe)) throw new Error('no pipe');
  const [found, [code]] = await Promise.all([text(pipe), once(child, 'exit')]);
  if (code !== 0) throw new Error(`measuring the mounter ended with ${code}`);
  run.results.push(...(JSON.parse(found) as Result[]));
}
