import { writeFileSync } from 'node:fs';
import { compile } from '../compile.ts';
import { Run, type RunOptions } from '../run.ts';
import { amongOtherMounts } from './among-others.ts';
import { calls } from './calls.ts';
import { DiskNode } from './disk-node.ts';
import { disks } from './disks.ts';
import { hotplug } from './hotplug.ts';
import { HotplugNode } from './hotplug-node.ts';
import { LibraryProcess } from './library-process.ts';
import { processes } from './processes.ts';

/** Measures the mounter in the mount namespace that it is started in, which has to be one of its own. */
async function main({ scratch, ...options }: RunOptions & { readonly scratch: string }) {
  const run = new Run(options);
  const peers = {
    measure: compile('measure', scratch),
    mountLoop: compile('mount-loop', scratch),
  };
  await using cleanup = new AsyncDisposableStack();
  const start = async (count: number) => cleanup.use(await DiskNode.start(count, scratch));
  const [one, ten, hundred] = [await start(1), await start(10), await start(100)];
  const thousand = await start(1000);
  const library = cleanup.use(new LibraryProcess());
  await run.measure('process', () => processes(one, peers));
  await run.measure('disks', () => disks([one, ten, hundred, thousand], library, peers));
  await run.measure('other-mounts', () => amongOtherMounts([ten, thousand], library));
  await run.measure('calls', () => calls(hundred, peers));
  if (run.wants('hotplug')) {
    const nodes: HotplugNode[] = [];
    for (const count of [1, 10, 100]) nodes.push(cleanup.use(await HotplugNode.start(count)));
    await run.measure('hotplug', () => hotplug(nodes, library));
  }
  return run.results;
}

try {
  const results = await main(JSON.parse(process.argv[2] ?? ''));
  // Standard output is for whoever else writes there.
  writeFileSync(3, JSON.stringify(results));
} catch (error) {
  console.error(`bench: error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
