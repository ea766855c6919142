import { setTimeout as sleep } from 'node:timers/promises';
import type { MounterOptions } from '../../src/mounter/mounter.ts';
import type { Machine } from './machine.ts';
import type { Sample } from './memory.ts';
import { MounterChild } from './mounter-child.ts';
import type { Answer, Task } from './mounter-process.ts';
import type { Random } from './random.ts';

/** What was done, and what came of it. */
export class Tally {
  readonly #counts = new Map<string, number>();
  /** Outcomes that a node with restarting sidecars does not explain. */
  readonly unexpected: string[] = [];

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** Sidecars are killed all the time: what they make impossible for a while is no fault. */
  answer({ verb }: Task, { outcomes }: Answer): void {
    this.add(verb);
    for (const outcome of outcomes) {
      const [what = ''] = outcome.split(':');
      this.add(`${verb}: ${what}`);
      const isExplained = /^failed (ENOTREADY|EDEAD)$/.test(what);
      if (what.startsWith('failed') && !isExplained) this.unexpected.push(`${verb}: ${outcome}`);
    }
  }

  get rows(): readonly (readonly [what: string, count: number])[] {
    return [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  count(what: string): number {
    return this.#counts.get(what) ?? 0;
  }
}

/** What all workers share. */
export interface Work {
  readonly machines: readonly Machine[];
  readonly options: MounterOptions;
  readonly tally: Tally;
  readonly isOver: () => boolean;
}

const verbs = ['mount', 'mount', 'mount', 'unmount', 'unmount', 'unmount all'] as const;

function randomTask(random: Random, machines: readonly Machine[]): Task {
  const manifest = random.pick(machines).manifest(random);
  if (random.once(20)) return { verb: random.pick(['list', 'gc', 'checksum'] as const), manifest };
  return { verb: random.pick(verbs), manifest };
}

/** One process that lives as long as the soak, and tells what it uses. */
export async function longRunning(
  { machines, options, tally, isOver }: Work,
  random: Random,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  await using child = new MounterChild(options);
  while (!isOver()) {
    const task = randomTask(random, machines);
    const answer = await child.run(task);
    if (answer === undefined) throw new Error('the process that lives long has ended');
    tally.answer(task, answer);
    samples.push({ ...answer.usage, time: performance.now() });
  }
  return samples;
}

/** Processes that are killed at a random moment, one after another. */
export async function killedAgain(
  { machines, options, tally, isOver }: Work,
  random: Random,
): Promise<void> {
  while (!isOver()) {
    await using child = new MounterChild(options);
    let isAlive = true;
    const killed = sleep(200 + random.below(1500)).then(() => child.kill());
    while (isAlive) {
      const task = randomTask(random, machines);
      const answer = await child.run(task);
      if (answer) tally.answer(task, answer);
      isAlive = answer !== undefined;
    }
    await killed;
    tally.add('kill -9 of a mounter');
  }
}

/** Sidecars that are killed, and started anew after a while. */
export async function restartedSidecars(
  { machines, tally, isOver }: Work,
  random: Random,
): Promise<void> {
  while (!isOver()) {
    const machine = random.pick(machines);
    await machine.killSidecar();
    tally.add('kill -9 of a sidecar');
    await sleep(random.below(500));
    await machine.startSidecar();
    await sleep(random.below(500));
  }
}
