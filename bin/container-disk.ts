#!/usr/bin/env node
import { basename } from 'node:path';
import { failure, tell } from '../src/holder/failure.ts';
import { plainArguments } from '../src/holder/plain-arguments.ts';

async function main(): Promise<void> {
  const name = basename(process.argv0);
  const plain = name === 'cp' ? undefined : plainArguments(process.argv.slice(2));
  if (plain?.noOp) return;
  if (plain) {
    const { holdUntilStopped } = await import('../src/holder/hold-until-stopped.ts');
    await holdUntilStopped(plain.copyPaths, tell);
  } else {
    const { run } = await import('./container-disk-commands.ts');
    await run(name);
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    tell(failure(error));
    process.exit(1);
  },
);
