import type { VirtualMachineInstance } from '../kubevirt/virtual-machine-instance.ts';
import { type ChecksumReport, checksums, verifyChecksums } from './checksums.ts';
import { collectGarbage } from './collect-garbage.ts';
import { Host } from './host.ts';
import type { HostOptions } from './host-options.ts';
import { HostResources } from './host-resources.ts';
import { inspect, type SocketReport } from './inspect.ts';
import { type Listing, list } from './list.ts';
import { type MountOptions, mountVirtualMachine } from './mount-virtual-machine.ts';
import type { MountReport } from './prepared.ts';
import { type ReadyOptions, type ReadyReport, ready } from './ready.ts';
import { RecordStore } from './record-store.ts';
import type { MounterEvent, RunContext } from './run-context.ts';
import {
  type UnmountOptions,
  type UnmountReport,
  unmountVirtualMachine,
} from './unmount-virtual-machine.ts';

export interface MounterOptions extends HostOptions {
  /** Is told what happens, while it happens. */
  readonly onEvent?: (event: MounterEvent) => void;
}

/** Options of the verbs that have no others. */
export interface VerbOptions {
  /** Ends the verb between two steps, with the signal's reason; what was begun is finished or undone. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The host side: does on a node what virt-handler does for container disks and hotplugged volumes.
 *
 * It needs root on the node, or a privileged pod with hostPID, and no connection to an API server. Every verb can be
 * repeated, also after it was killed; two at once on one virtual machine wait for each other, whichever processes
 * they are in.
 *
 * @example
 * ```ts
 * import { Mounter, readVirtualMachineInstances } from 'container-disk/mounter';
 *
 * await using mounter = new Mounter({ onEvent: (event) => console.error(event.message) });
 * for (const instance of readVirtualMachineInstances(await readFile('vmi.yaml', 'utf8'), 'vmi.yaml')) {
 *   for (const report of await mounter.mount(instance)) console.log(report.volume, report.outcome);
 * }
 * ```
 */
export class Mounter implements AsyncDisposable {
  readonly #options: HostOptions;
  readonly #resources: HostResources;
  readonly #tell: (event: MounterEvent) => void;

  constructor({ onEvent, ...options }: MounterOptions = {}) {
    this.#options = options;
    this.#resources = new HostResources(options);
    this.#tell = onEvent ?? (() => {});
  }

  async #run<Result>(verb: (context: RunContext) => Promise<Result>): Promise<Result> {
    using host = new Host(this.#options, this.#resources);
    const tell = this.#tell;
    const records = new RecordStore(host.stateDirectory, (message) =>
      tell({ level: 'warn', message }),
    );
    return await verb({ host, records, tell });
  }

  /** Whether every container disk has a socket that accepts; waits for it as long as `timeout` says. */
  ready(instance: VirtualMachineInstance, options: ReadyOptions = {}): Promise<ReadyReport[]> {
    return this.#run((context) => ready(context, instance, options));
  }

  /**
   * Mounts all that a VMI asks for on this node.
   *
   * @returns a report for each; `outcome` is `failed` where a volume could not be served, with the reason
   * @throws MounterError ENOTREADY where it has no launcher pod here, ERECORD where nothing can be written down
   */
  async mount(
    instance: VirtualMachineInstance,
    options: MountOptions = {},
  ): Promise<MountReport[]> {
    const reports = await this.#run((context) => mountVirtualMachine(context, instance, options));
    this.#tellAll(reports);
    return reports;
  }

  /**
   * Takes away what the spec of a VMI no longer has, or with `all` everything.
   *
   * @returns a report for each place where there was something
   * @throws MounterError ERECORD where the record cannot be read or brought up to date
   */
  async unmount(
    instance: VirtualMachineInstance,
    options: UnmountOptions = {},
  ): Promise<UnmountReport[]> {
    const reports = await this.#run((context) => unmountVirtualMachine(context, instance, options));
    this.#tellAll(reports);
    return reports;
  }

  /** CRC-32 of each container disk and of kernel boot. */
  async checksum(
    instance: VirtualMachineInstance,
    { signal }: VerbOptions = {},
  ): Promise<ChecksumReport[]> {
    const reports = await this.#run((context) => checksums(context, instance, signal));
    this.#tellErrors(reports);
    return reports;
  }

  /** The same, with an error for each that is not what the status of the VMI says. */
  async verify(
    instance: VirtualMachineInstance,
    { signal }: VerbOptions = {},
  ): Promise<ChecksumReport[]> {
    const reports = await this.#run((context) => verifyChecksums(context, instance, signal));
    this.#tellErrors(reports);
    return reports;
  }

  /** Every socket on the node with the disk that it leads to, and every hotplugged volume. */
  list({ signal }: VerbOptions = {}): Promise<Listing> {
    return this.#run(({ host }) => list(host, signal));
  }

  /** What one socket leads to. */
  inspect(socket: string): Promise<SocketReport> {
    return this.#run(({ host }) => inspect(host, socket));
  }

  /** Takes away the records and mounts of pods that are gone. */
  async gc({ signal }: VerbOptions = {}): Promise<UnmountReport[]> {
    const reports = await this.#run((context) => collectGarbage(context, signal));
    this.#tellAll(reports);
    return reports;
  }

  /**
   * Whether a thread still waits for the file system of an image that has not answered in time. The process cannot
   * end as usual before that has: `process.exit` waits for the thread.
   */
  get isStuck(): boolean {
    return this.#resources.images.isStuck;
  }

  /** Ends the threads that do not wait for a file system, and closes what is open. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources[Symbol.asyncDispose]();
  }

  #tellAll(reports: readonly (MountReport | UnmountReport)[]): void {
    this.#tellErrors(reports);
    for (const report of reports) {
      if ('error' in report && report.error) continue;
      const { volume, outcome } = report;
      const target = 'target' in report ? ` ${report.target}` : '';
      this.#tell({ level: 'info', volume, message: `${outcome}${target}` });
    }
  }

  #tellErrors(reports: readonly (MountReport | UnmountReport | ChecksumReport)[]): void {
    for (const report of reports) {
      if (!('error' in report) || report.error === undefined) continue;
      const { volume, error } = report;
      this.#tell({ level: 'error', volume, message: error.message });
    }
  }
}
