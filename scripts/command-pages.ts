import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { containerDiskCommand } from '../bin/container-disk-commands.ts';
import { mounterCommand } from '../bin/container-disk-mounter-commands.ts';
import packageJson from '../package.json' with { type: 'json' };
import { bashCompletion } from './command-pages/bash.ts';
import { commandModel } from './command-pages/command-model.ts';
import { fishCompletion } from './command-pages/fish.ts';
import { manualPage } from './command-pages/manual.ts';
import { holderProse, mounterProse } from './command-pages/prose.ts';
import { zshCompletion } from './command-pages/zsh.ts';

/** Of the version; goes into the manual pages. */
const date = '2026-12-01';

/** Writes the manual pages and the completion scripts of both commands from their definitions. */
function writePages({ output }: { readonly output: string }): void {
  const write = (path: string, text: string) => {
    const file = resolve(output, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const [command, prose] of [
    [containerDiskCommand(), holderProse],
    [mounterCommand(async () => {}), mounterProse],
  ] as const) {
    const model = commandModel(command);
    const { name } = model;
    write(`man/${name}.${prose.section}`, manualPage(model, prose, packageJson.version, date));
    write(`completion/${name}.bash`, bashCompletion(model));
    write(`completion/${name}.fish`, fishCompletion(model));
    write(`completion/_${name}`, zshCompletion(model));
  }
}

new Command('command-pages')
  .description(
    'Makes the manual pages and the shell completions from the definitions of the commands.',
  )
  .option('--output <dir>', 'where they go', join(import.meta.dirname, '../docs'))
  .action(writePages)
  .parse();
