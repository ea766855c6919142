import { readManifestFile } from '../kubevirt/manifest-file.ts';
import { readVirtualMachineInstances } from '../kubevirt/read-virtual-machine-instances.ts';
import type { VirtualMachineInstance } from '../kubevirt/virtual-machine-instance.ts';
import type { ChecksumReport } from './checksums.ts';
import type { Mounter } from './mounter.ts';
import {
  checksumTable,
  listTable,
  mountTable,
  readyTable,
  socketTable,
  unmountTable,
} from './output/report-tables.ts';
import type { MountReport } from './prepared.ts';
import type { UnmountReport } from './unmount-virtual-machine.ts';

/** The commands of `container-disk-mounter`. */
export type Verb =
  | 'list'
  | 'inspect'
  | 'ready'
  | 'mount'
  | 'unmount'
  | 'checksum'
  | 'verify'
  | 'gc';

export interface CommandInput {
  /** The file with the VMI; `-` is standard input. */
  readonly filename?: string | undefined;
  readonly socket?: string | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly sourcePod?: string | undefined;
  readonly all?: boolean | undefined;
}

/** What a command prints, for programs and for people, and whether it failed. */
export interface CommandResult {
  readonly value: unknown;
  readonly table: () => string;
  readonly failed: boolean;
  /** What kept whole virtual machines from being served, for the log. */
  readonly errors: readonly Error[];
}

/** Runs one command. */
export async function runCommand(
  mounter: Mounter,
  verb: Verb,
  input: CommandInput,
  signal: AbortSignal,
): Promise<CommandResult> {
  switch (verb) {
    case 'list': {
      const listing = await mounter.list({ signal });
      return { value: listing, table: () => listTable(listing), failed: false, errors: [] };
    }
    case 'inspect': {
      const report = await mounter.inspect(input.socket ?? '');
      const failed = report.reason !== undefined;
      return { value: report, table: () => socketTable(report), failed, errors: [] };
    }
    case 'gc': {
      const reports = await mounter.gc({ signal });
      const failed = reports.some(hasError);
      return { value: reports, table: () => unmountTable(reports), failed, errors: [] };
    }
    case 'ready': {
      const { timeout } = input;
      return forEach(
        input,
        (instance) => mounter.ready(instance, { timeout, signal }),
        readyTable,
        ({ ready }) => !ready,
      );
    }
    case 'mount': {
      const { sourcePod } = input;
      return forEach(
        input,
        (instance) => mounter.mount(instance, { sourcePod, signal }),
        mountTable,
        hasError,
      );
    }
    case 'unmount': {
      const { all } = input;
      return forEach(
        input,
        (instance) => mounter.unmount(instance, { all, signal }),
        unmountTable,
        hasError,
      );
    }
    case 'checksum':
      return forEach(
        input,
        (instance) => mounter.checksum(instance, { signal }),
        checksumTable,
        hasError,
      );
    case 'verify':
      return forEach(
        input,
        (instance) => mounter.verify(instance, { signal }),
        checksumTable,
        hasError,
      );
  }
}

function hasError(report: MountReport | UnmountReport | ChecksumReport): boolean {
  return 'error' in report && report.error !== undefined;
}

/** What a verb says of one virtual machine. */
interface InstanceResult<Report> {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly volumes: readonly Report[];
  /** Why nothing could be done for it at all. */
  readonly error?: Error;
}

/** One virtual machine that fails keeps no other from its turn. */
async function forEach<Report>(
  { filename = '-' }: CommandInput,
  verb: (instance: VirtualMachineInstance) => Promise<Report[]>,
  table: (reports: readonly Report[]) => string,
  isFailure: (report: Report) => boolean,
): Promise<CommandResult> {
  const source = filename === '-' ? 'standard input' : filename;
  const instances = readVirtualMachineInstances(await readManifestFile(filename), source);
  const results: InstanceResult<Report>[] = [];
  for (const instance of instances) {
    const { namespace, name, uid } = instance;
    try {
      results.push({ namespace, name, uid, volumes: await verb(instance) });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      results.push({ namespace, name, uid, volumes: [], error });
    }
  }
  return {
    value: results,
    table: () => table(results.flatMap(({ volumes }) => volumes)),
    failed: results.some(({ volumes, error }) => error !== undefined || volumes.some(isFailure)),
    errors: results.flatMap(({ error }) => error ?? []),
  };
}
