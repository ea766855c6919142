import { Command, InvalidArgumentError, Option } from 'commander';
import type { Verb } from '../src/mounter/command.ts';
import type { Owner, Strategy } from '../src/mounter/host-options.ts';
import type { LogFormat } from '../src/mounter/output/event-log.ts';
import type { OutputFormat } from '../src/mounter/output/structured.ts';
import { version } from '../src/mounter/version.ts';

/** Options of every command, as commander names them, and those that only some have. */
export interface CommandOptions {
  readonly hostRoot: string;
  readonly kubeletDir: string;
  readonly stateDir: string;
  readonly hostMountNamespace: string;
  readonly owner: Owner;
  readonly strategy: Strategy;
  /** Milliseconds. */
  readonly socketTimeout: number;
  readonly output: OutputFormat;
  readonly logFormat: LogFormat;
  readonly verbose?: true;
  readonly filename?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly sourcePod?: string;
  readonly all?: true;
}

/** chown(2) takes the number above it for "leave it as it is". */
const highestId = 2 ** 32 - 2;

/** Runs a verb of the mounter with the options of its command. */
export type Run = (verb: Verb, options: CommandOptions, socket?: string) => Promise<void>;

const vmiOption = () =>
  new Option(
    '-f, --filename <file>',
    'VirtualMachineInstance, JSON or YAML, one or a List; - is standard input',
  ).makeOptionMandatory();

/** The command line; `run` does the work with what was read. */
export function mounterCommand(run: Run): Command {
  const program = new Command('container-disk-mounter')
    .description("Mounts container disks and hotplugged volumes into virtual machines' pods.")
    .version(version())
    .addOption(
      new Option('--host-root <dir>', "the host's root as seen from here")
        .argParser(path)
        .default('/'),
    )
    .addOption(
      new Option('--kubelet-dir <dir>', "the kubelet's directory on the host")
        .argParser(path)
        .default('/var/lib/kubelet'),
    )
    .addOption(
      new Option('--state-dir <dir>', 'where records are kept')
        .argParser(path)
        .default('/run/container-disk/mounts'),
    )
    .addOption(
      new Option('--host-mount-namespace <path>', "the host's mount namespace")
        .argParser(path)
        .default('/proc/1/ns/mnt'),
    )
    .addOption(
      new Option('--owner <uid:gid>', "QEMU's uid and gid")
        .argParser(owner)
        .default({ uid: 107, gid: 107 }, '107:107'),
    )
    .addOption(
      new Option('--strategy <how>', "how a file gets out of a container's mount namespace")
        .choices(['auto', 'open_tree', 'mountinfo'])
        .default('auto'),
    )
    .addOption(
      new Option('--socket-timeout <duration>', 'how long a socket may take to accept')
        .argParser(duration)
        .default(10_000, '10s'),
    )
    .addOption(
      new Option('-o, --output <format>', 'how results are printed')
        .choices(['table', 'json', 'yaml'])
        .default('table'),
    )
    .addOption(
      new Option('--log-format <format>', 'how the log on standard error is written')
        .choices(['text', 'json'])
        .default('text'),
    )
    .option('-v, --verbose', 'log what is done, not only what is wrong')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => write(`container-disk-mounter: ${text}`),
    });

  const command = (verb: Verb, description: string, ...options: Option[]) => {
    const made = program.command(verb).description(description);
    for (const option of options) made.addOption(option);
    made.action(() => run(verb, made.optsWithGlobals<CommandOptions>()));
  };
  command(
    'list',
    'every socket on the node, the disk that it leads to, and every hotplugged volume',
  );
  program
    .command('inspect <socket>')
    .description('the same for one socket')
    .action((socket: string) => run('inspect', program.opts<CommandOptions>(), socket));
  command(
    'ready',
    'whether every container disk has a socket that accepts; exit 1 and why, if not',
    vmiOption(),
    new Option('--timeout <duration>', 'how long to wait for it')
      .argParser(duration)
      .default(60_000, '60s'),
  );
  command(
    'mount',
    'mount all that the VMI asks for; exit 1 where a volume failed, the others are mounted',
    vmiOption(),
    new Option('--source-pod <uid>', 'attachment pod to take hotplugged volumes from'),
  );
  command(
    'unmount',
    'take away what the spec of the VMI no longer has',
    vmiOption(),
    new Option('--all', 'everything of the VMI, also when nothing is recorded'),
  );
  command('checksum', 'CRC-32 of each container disk', vmiOption());
  command('verify', 'compare the checksums with those in the status of the VMI', vmiOption());
  command('gc', 'take away the records and mounts of pods that are gone');
  return program;
}

function path(text: string): string {
  if (text === '') throw new InvalidArgumentError('It is empty.');
  return text;
}

function duration(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit ?? ''];
  if (number === undefined || factor === undefined) {
    throw new InvalidArgumentError('It is no duration such as 500ms, 60s or 2m.');
  }
  return Number(number) * factor;
}

function owner(text: string): Owner {
  const [, uid, gid] = /^(\d{1,10}):(\d{1,10})$/.exec(text) ?? [];
  if (uid === undefined || gid === undefined) throw new InvalidArgumentError('It is not UID:GID.');
  if (Number(uid) > highestId || Number(gid) > highestId) {
    throw new InvalidArgumentError(`A uid or gid is at most ${highestId}.`);
  }
  return { uid: Number(uid), gid: Number(gid) };
}
