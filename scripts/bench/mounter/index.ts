import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Result } from '../comparison.ts';
import { groups, type Run } from '../run.ts';

/** Measures the mounter beside its peers, in a process with a mount namespace of its own. */
export async function benchMounter(run: Run, scratch: string): Promise<void> {
  if (!run.wants(...groups.mounter)) return;
  if (process.getuid?.() !== 0) throw new Error('the mounter can be measured as root only');
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'private', process.execPath],
      join(import.meta.dirname, 'main.ts'),
      JSON.stringify({ ...run.options, scratch }),
    ],
    { stdio: ['ignore', 'inherit', 'inherit', 'pipe'] },
  );
  const { 3: pipe } = child.stdio;
  if (pipe === null || pipe === undefined || !('read' in pipe)) throw new Error('no pipe');
  const [found, [code]] = await Promise.all([text(pipe), once(child, 'exit')]);
  if (code !== 0) throw new Error(`measuring the mounter ended with ${code}`);
  run.results.push(...(JSON.parse(found) as Result[]));
}
