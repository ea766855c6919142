#!/usr/bin/env node
import { basename } from 'node:path';
import { failure, tell } from '../src/holder/failure.ts';
import { plainCommand } from '../src/holder/plain-command.ts';

async function main(): Promise<void> {
  const name = basename(process.argv0);
  const command = plainCommand(name, process.argv.slice(2));
  switch (command?.kind) {
    case 'no-op':
      return;
    case 'hold': {
      const { holdUntilStopped } = await import('../src/holder/hold-until-stopped.ts');
      await holdUntilStopped(command.copyPaths, tell);
      return;
    }
    case 'copy': {
      const { copy } = await import('../src/holder/copy.ts');
      copy(command.source, basename(command.source), command.destination);
      return;
    }
    default: {
      const { run } = await import('./container-disk-commands.ts');
      await run(name);
    }
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    tell(failure(error));
    process.exit(1);
  },
);
