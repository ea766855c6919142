import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { Steps } from './build/steps.ts';
import { sourceDate } from './image/source-date.ts';
import { makeArtifacts } from './release/artifacts.ts';
import { ReleaseError } from './release/release-error.ts';

interface Options {
  readonly output: string;
}

/** Makes the artifacts beside their place, and puts them there when they are complete. */
async function release({ output }: Options): Promise<void> {
  const directory = resolve(output);
  if (existsSync(directory) && !isReplaceable(directory)) {
    throw new ReleaseError(
      'EUSAGE',
      `${directory} is there and is no release: it is left as it is. Give another --output, or remove it`,
    );
  }
  const steps = new Steps();
  const created = sourceDate();
  mkdirSync(dirname(directory), { recursive: true });
  const temporary = mkdtempSync(join(dirname(directory), '.release-'));
  try {
    const [artifacts, scratch] = [join(temporary, 'artifacts'), join(temporary, 'scratch')];
    mkdirSync(artifacts);
    mkdirSync(scratch);
    await makeArtifacts(artifacts, scratch, created, steps);
    rmSync(directory, { recursive: true, force: true });
    renameSync(artifacts, directory);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size);
  steps.total(
    output,
    sizes.reduce((sum, size) => sum + size, 0),
  );
}

function isReplaceable(directory: string): boolean {
  const names = readdirSync(directory);
  return names.length === 0 || names.includes('SHA256SUMS');
}

const command = new Command('release')
  .description(
    'Makes all that is released: program, image, npm package, checksums, bills, licences.',
  )
  .option('--output <dir>', 'where it goes', join(import.meta.dirname, '../dist/release'))
  .action(release);

try {
  await command.parseAsync();
} catch (error) {
  console.error(`release: error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
