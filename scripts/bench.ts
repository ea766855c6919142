import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchHolder } from './bench/holder/index.ts';
import { machine } from './bench/machine.ts';
import { benchMounter } from './bench/mounter/index.ts';
import { Run } from './bench/run.ts';
import { resultTables, targetTable } from './bench/tables.ts';
import { targets } from './bench/targets.ts';

const usage = `usage: npm run bench -- [--only NAME]... [--rounds NUMBER] [-o json] [--plot DIRECTORY]`;

async function bench(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      output: { type: 'string', short: 'o', default: 'table' },
      plot: { type: 'string' },
    },
  });
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isSafeInteger(rounds) && rounds > 0)) throw new Error(usage);
  const run = new Run({ only: values.only, rounds });
  const where = machine();
  const scratch = mkdtempSync(join(import.meta.dirname, '../dist/.bench-'));
  try {
    await benchHolder(run, scratch);
    await benchMounter(run, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const { results } = run;
  if (values.plot !== undefined) {
    const { writePlots } = await import('./bench/plots.ts');
    for (const path of await writePlots(results, values.plot)) run.tell(`wrote ${path}`);
  }
  const reached = targets(results);
  if (values.output === 'json') {
    console.log(JSON.stringify({ machine: where, results, targets: reached }, undefined, 2));
  } else {
    console.log(`${resultTables(results)}\n${targetTable(reached)}`);
  }
}

try {
  await bench();
} catch (error) {
  console.error(`bench: error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
