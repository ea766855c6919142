import { copyFileSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { officialProgram } from './bench/official-program.ts';
import { summarize } from './bench/statistics.ts';
import { measureStart, type Start } from './limits/start.ts';

/** What KubeVirt gives a container disk's containers by default, in bytes. */
const memory = 40_000_000;

const root = join(import.meta.dirname, '..');

interface Kind {
  readonly name: string;
  readonly program: string;
  /** Thousandths of a core. */
  readonly cpu: number | undefined;
  readonly isCached: boolean;
  readonly starts: Start[];
  failed: number;
}

function row({ name, cpu, isCached, starts, failed }: Kind): string {
  const of = (field: keyof Start, unit: number, digits: number) =>
    starts.length === 0
      ? ''
      : (summarize(starts.map((start) => start[field])).median / unit).toFixed(digits);
  const cells = [
    cpu === undefined ? 'no limit' : `${cpu}m`,
    isCached ? 'cached' : 'not cached',
    name,
    of('socket', 1000, 2),
    of('noOp', 1000, 2),
    of('peak', 1e6, 1),
    `${failed} of ${failed + starts.length}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** KiB that the kernel reads at once of the block device that a file lies on (`read_ahead_kb` of sysfs). */
function readAhead(path: string): string {
  const { dev } = statSync(path);
  const device = `/sys/dev/block/${(dev >> 8) & 0xfff}:${dev & 0xff}`;
  try {
    return readFileSync(`${realpathSync(device)}/queue/read_ahead_kb`, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

async function measure(
  scratch: string,
  rounds: number,
  cpus: readonly (number | undefined)[],
  signal: AbortSignal,
): Promise<void> {
  // Copies, which nobody else has mapped: only those can be dropped from the page cache.
  const own = join(scratch, 'container-disk');
  copyFileSync(join(root, 'dist/container-disk'), own);
  const programs = { 'container-disk': own, 'dynamic Node.js': await officialProgram(scratch) };
  const kinds = cpus.flatMap((cpu) =>
    [true, false].flatMap((isCached) =>
      Object.entries(programs).map(
        ([name, program]): Kind => ({ name, program, cpu, isCached, starts: [], failed: 0 }),
      ),
    ),
  );
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of kinds) {
      try {
        const { program, cpu, isCached } = kind;
        kind.starts.push(await measureStart(program, { memory, cpu }, scratch, isCached, signal));
      } catch (error) {
        signal.throwIfAborted();
        console.error(`limits: ${error instanceof Error ? error.message : String(error)}`);
        kind.failed += 1;
      }
    }
  }
  console.log(
    `Memory ${memory / 1e6}M, read-ahead ${readAhead(scratch)} KiB, medians of ${rounds} starts.\n`,
  );
  console.log(
    '| cpu | program file | program | socket accepts, s | `--no-op`, s | peak memory, MB | failed |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const kind of kinds) console.log(row(kind));
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It is no whole number.');
  return Number(text);
}

function rounds(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('It is at least 1.');
  return number;
}

const ended = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGPIPE'] as const) {
  process.on(name, () => ended.abort(new Error(`ended by ${name}`)));
}

await new Command('limits')
  .description(
    "Starts the program and the official Node.js with the same bundle in cgroups with a pod's limits, as root.",
  )
  .addOption(new Option('--rounds <number>', 'starts of each kind').argParser(rounds).default(5))
  .addOption(
    new Option('--cpu <list>', 'thousandths of a core, comma-separated; 0 is no limit')
      .argParser((text) => text.split(',').map(wholeNumber))
      .default([10, 100, 500, 0], '10,100,500,0'),
  )
  .action(async (options: { readonly rounds: number; readonly cpu: readonly number[] }) => {
    if (process.getuid?.() !== 0) {
      console.error('limits: error: cgroups are made by root: sudo npm run limits');
      process.exitCode = 1;
      return;
    }
    const cpus = options.cpu.map((each) => each || undefined);
    const scratch = mkdtempSync(join(tmpdir(), 'container-disk-limits-'));
    try {
      await measure(scratch, options.rounds, cpus, ended.signal);
    } catch (error) {
      console.error(`limits: error: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  })
  .parseAsync();
