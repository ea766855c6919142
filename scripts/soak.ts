/**
 * Mounts, unmounts and hotplugs at random, kills mounters and sidecars, and compares what is left with what was there.
 * `--minutes`, `--machines` and `--seed`; exit code 1 where anything differs.
 */
import { parseArgs } from 'node:util';
import { type Sample, trend } from './soak/memory.ts';
import { MounterChild } from './soak/mounter-child.ts';
import { differences, nodeState } from './soak/node-state.ts';
import { Random } from './soak/random.ts';
import { SoakNode } from './soak/soak-node.ts';
import { killedAgain, longRunning, restartedSidecars, Tally } from './soak/workers.ts';

const mebibyte = 1024 * 1024;

/** Growth per minute that is none, in bytes: a leak of one small object per verb is more over ten minutes. */
const flat = { heap: mebibyte, external: mebibyte, descriptors: 1 };

/** Shorter, and caches still fill. */
const shortestForSlope = 2;

interface Options {
  readonly minutes: number;
  readonly machines: number;
  readonly seed: number;
}

function options(): Options {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      machines: { type: 'string', default: '50' },
      seed: { type: 'string', default: String(1 + (Date.now() % 1_000_000)) },
    },
  });
  const [minutes = 0, machines = 0, seed = 0] = [values.minutes, values.machines, values.seed].map(
    Number,
  );
  const isRight = minutes > 0 && Number.isInteger(machines) && machines > 0 && seed > 0;
  if (!isRight) throw new Error('--minutes, --machines and --seed have to be above 0');
  return { minutes, machines, seed };
}

async function soak({ minutes, machines, seed }: Options, signal: AbortSignal): Promise<boolean> {
  console.log(`${machines} virtual machines, ${minutes} minutes, seed ${seed}`);
  await using node = await SoakNode.start(machines, signal);
  const look = () => nodeState(node.directories.root, node.stateDirectory, node.machines);
  const before = look();
  const mounter = {
    kubeletDirectory: node.directories.kubelet,
    stateDirectory: node.stateDirectory,
    hostMountNamespace: '/proc/self/ns/mnt',
  };
  const tally = new Tally();
  const end = performance.now() + minutes * 60_000;
  const isOver = () => signal.aborted || performance.now() >= end;
  const work = { machines: node.machines, options: mounter, tally, isOver };
  const [samples] = await Promise.all([
    longRunning(work, new Random(seed)),
    killedAgain(work, new Random(seed + 1)),
    restartedSidecars(work, new Random(seed + 2)),
  ]);
  await using last = new MounterChild(mounter);
  for (const machine of node.machines) {
    const task = { verb: 'unmount all', manifest: machine.manifest(new Random(seed)) } as const;
    const answer = await last.run(task);
    if (answer) tally.answer(task, answer);
  }
  const left = differences(before, look());
  const growth = print(tally, samples, minutes);
  const wrong = [...tally.unexpected, ...left, ...growth];
  for (const line of wrong.slice(0, 100)) console.log(`WRONG  ${line}`);
  console.log(wrong.length === 0 ? 'Nothing was left behind.' : `${wrong.length} are wrong.`);
  return wrong.length === 0;
}

/** @returns what grew */
function print(tally: Tally, samples: readonly Sample[], minutes: number): string[] {
  for (const [what, count] of tally.rows) console.log(`${String(count).padStart(8)}  ${what}`);
  console.log('\nThe process that lives long, second half (MiB; after a collection of garbage):');
  const grown: string[] = [];
  for (const figure of ['rss', 'heap', 'external', 'descriptors'] as const) {
    const unit = figure === 'descriptors' ? 1 : mebibyte;
    const { first, last, most, slope } = trend(samples, figure);
    const text = `${figure.padEnd(12)} ${[first, last, most].map((value) => (value / unit).toFixed(2)).join(' → ')} at most, ${(slope / unit).toFixed(3)} per minute`;
    console.log(`  ${text}`);
    const isGrowth = figure !== 'rss' && slope > flat[figure];
    if (isGrowth && minutes >= shortestForSlope) grown.push(text);
  }
  return grown;
}

/** A signal ends it early: what it has made is taken away all the same, and compared. */
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interrupted.abort(new Error(`ended by ${signal}`)));
}
process.exitCode = (await soak(options(), interrupted.signal)) ? 0 : 1;
