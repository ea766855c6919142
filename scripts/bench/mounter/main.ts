import { writeFileSync } from 'node:fs';
import { compile } from '../compile.ts';
import { Run, type RunOptions } from '../run.ts';
import { calls } from './calls.ts';
import { counts } from './counts.ts';
import { DiskNode } from './disk-node.ts';
import { disks } from './disks.ts';
import { LibraryProcess } from './library-process.ts';

/** Measures the mounter in the mount namespace that it is started in, which has to be one of its own. */
async function main({ scratch, ...options }: RunOptions & { readonly scratch: string }) {
  const run = new Run(options);
  const peers = {
    measure: compile('measure', scratch),
    mountLoop: compile('mount-loop', scratch),
  };
  await using cleanup = new AsyncDisposableStack();
  const nodes: DiskNode[] = [];
  for (const count of counts) nodes.push(cleanup.use(await DiskNode.start(count, scratch)));
  const library = cleanup.use(new LibraryProcess());
  await run.measure('disks', () => disks(nodes, library, peers));
  const hundred = nodes.find((node) => node.disks === 100);
  if (hundred) await run.measure('calls', () => calls(hundred, peers));
  return run.results;
}

const results = await main(JSON.parse(process.argv[2] ?? ''));
// Standard output is for whoever else writes there.
writeFileSync(3, JSON.stringify(results));
