import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import type { FuzzFigures } from '../test/support/fuzz.ts';

const tests = join(import.meta.dirname, '../test/fuzz');

interface Options {
  readonly runs: string;
  readonly seed: string;
  readonly subject?: string;
}

/** Runs one file of properties, and answers with its figures. */
function run(file: string, { runs, seed }: Options): FuzzFigures[] {
  const directory = mkdtempSync(join(tmpdir(), 'container-disk-fuzz-'));
  const report = join(directory, 'figures');
  try {
    const { status, signal, stdout } = spawnSync(process.execPath, [join(tests, file)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      env: {
        ...process.env,
        FUZZ_RUNS: runs,
        FUZZ_SEED: seed,
        FUZZ_REPORT: report,
        TAP_TIMEOUT: '7200',
      },
    });
    const lines = status === null ? [] : readFileSync(report, 'utf8').trim().split('\n');
    const figures = lines.map((line): FuzzFigures => JSON.parse(line));
    if (status !== 0) {
      console.error(`fuzz: ${file} ended with ${signal ?? status}`);
      console.error(stdout.split('\n').slice(-40).join('\n'));
      process.exitCode = 1;
    }
    return figures;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

await new Command('fuzz')
  .description('Runs the properties of test/fuzz over many inputs, and says what each took.')
  .option('--runs <number>', 'cases of each property', '100000')
  .option('--seed <number>', 'of the inputs', String(Date.now() % 2 ** 31))
  .option('--subject <name>', 'a file of test/fuzz: disks, elf, manifests…')
  .action((options: Options) => {
    console.log(`seed ${options.seed}\n`);
    console.log('| property | cases | s | longest, ms of CPU | memory, MiB more | fault |');
    console.log('| --- | --- | --- | --- | --- | --- |');
    const files = readdirSync(tests).filter((name) => name.endsWith('.test.ts'));
    const chosen = files.filter((name) =>
      [undefined, name.split('.')[0]].includes(options.subject),
    );
    if (chosen.length === 0) throw new Error(`there is no ${options.subject} in test/fuzz`);
    for (const file of chosen) {
      for (const { subject, cases, seconds, longest, growth, fault } of run(file, options)) {
        const cells = [
          subject,
          cases.toLocaleString('en'),
          seconds.toFixed(0),
          longest.toFixed(0),
          growth.toFixed(0),
          fault === undefined ? 'none' : (fault.split('\n')[0] ?? ''),
        ];
        console.log(`| ${cells.join(' | ')} |`);
      }
    }
  })
  .parseAsync();
