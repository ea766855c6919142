import { basename } from 'node:path';
import { isSea } from 'node:sea';
import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { copy } from '../src/holder/copy.ts';
import { tell } from '../src/holder/failure.ts';
import { holdUntilStopped } from '../src/holder/hold-until-stopped.ts';
import { HolderError } from '../src/holder/holder-error.ts';

const programName = 'container-disk';

interface Options {
  copyPath: string[];
  op: boolean;
}

async function holdSockets({ copyPath, op }: Options): Promise<void> {
  if (!op) return;
  if (copyPath.length === 0) {
    throw new HolderError('EUSAGE', 'nothing to do: give --copy-path PATH or --no-op (see --help)');
  }
  await holdUntilStopped(copyPath, tell);
}

function copyItself(destination: string, { copyPath, op }: Options): void {
  if (!op) return;
  if (copyPath.length > 0) throw new HolderError('EUSAGE', 'copy takes no --copy-path');
  if (!isSea()) {
    throw new HolderError('EUSAGE', 'only the built program can copy itself (npm run build)');
  }
  copy('/proc/self/exe', programName, destination);
}

/** The command line of the program under its own name. */
export function containerDiskCommand(): Command {
  const program = new Command(programName)
    .description('Holds UNIX sockets that lead the host to the disk in this container image.')
    .version(packageJson.version)
    .option(
      '-c, --copy-path <path>',
      'hold a socket at <path>.sock; may be given several times',
      (path: string, paths: string[]) => [...paths, path],
      [],
    )
    .option('--no-op', 'do nothing and exit 0: an init container that only has its image pulled')
    .configureHelp({ showGlobalOptions: true });
  program
    .command('hold', { isDefault: true })
    .description('hold the sockets until they are removed, SIGTERM or SIGINT (the default)')
    .allowExcessArguments()
    .action((_options: unknown, { args: [unknown] }: Command) => {
      if (unknown !== undefined) throw new HolderError('EUSAGE', `unknown command ${unknown}`);
      return holdSockets(program.opts());
    });
  program
    .command('copy <destination>')
    .description('copy this program to a path or into a directory, for another image to start it')
    .action((destination: string) => copyItself(destination, program.opts()));
  return program;
}

/** What an image that links /usr/bin/cp to this program gets: KubeVirt's init container runs `cp SOURCE DEST`. */
function cp(): Command {
  return new Command('cp')
    .description('Copies one file to a path or into a directory, with mode 0755.')
    .version(packageJson.version)
    .argument('<source>')
    .argument('<destination>')
    .action((source: string, destination: string) => {
      copy(source, basename(source), destination);
    });
}

/**
 * Reads the command line and does what it says.
 *
 * @param name the name that the program was started under
 */
export async function run(name: string): Promise<void> {
  const program = name === 'cp' ? cp() : containerDiskCommand();
  for (const command of [program, ...program.commands]) {
    command
      .exitOverride()
      .showSuggestionAfterError(false)
      .configureOutput({ writeErr: () => {} });
  }
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) {
      throw new HolderError('EUSAGE', error.message.replace(/^error: /, ''));
    }
  }
}
