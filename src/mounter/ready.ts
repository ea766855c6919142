import { setTimeout as sleep } from 'node:timers/promises';
import type { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import type { VirtualMachineInstance } from '../kubevirt/virtual-machine-instance.ts';
import { type WantedVolume, wantedVolumes } from '../kubevirt/wanted-volumes.ts';
import { volumeName } from './artifacts-of.ts';
import type { Host } from './host.ts';
import { attachmentPod } from './image-artifacts.ts';
import { containerBehind } from './image-process.ts';
import { launcherOf } from './launcher-of.ts';
import { MounterError, messageOf } from './mounter-error.ts';
import type { RunContext } from './run-context.ts';

/** Milliseconds between two looks. */
const interval = 100;

/** Whether the socket of a container disk accepts, and if not, why. */
export interface ReadyReport {
  readonly volume: string;
  readonly ready: boolean;
  /** The socket on the host, where it is known. */
  readonly socket?: string;
  readonly pid?: number;
  readonly reason?: string;
}

export interface ReadyOptions {
  /** Milliseconds to wait; 0 looks once. */
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Looks until every container disk, kernel boot and hotplugged ones too, has a socket that accepts, or time is up. */
export async function ready(
  { host }: RunContext,
  instance: VirtualMachineInstance,
  { timeout = 0, signal }: ReadyOptions,
): Promise<ReadyReport[]> {
  const deadline = performance.now() + timeout;
  for (;;) {
    signal?.throwIfAborted();
    const patience = Math.min(host.timeout, Math.max(deadline - performance.now(), interval));
    const reports = await look(host, instance, patience);
    const left = deadline - performance.now();
    if (reports.every((report) => report.ready) || left <= 0) return reports;
    await sleep(Math.min(interval, left), undefined, signal ? { signal } : {});
  }
}

async function look(
  node: Host,
  instance: VirtualMachineInstance,
  patience: number,
): Promise<ReadyReport[]> {
  // The pod's directories can be others by the next time.
  using host = node.again();
  try {
    const { pod, node: name } = launcherOf(host, instance);
    const images = wantedVolumes(instance, { node: name }).filter(
      ({ kind }) => kind !== 'hotplugVolume',
    );
    return await Promise.all(images.map((wanted) => lookAt(host, pod, wanted, patience)));
  } catch (error) {
    if (!(error instanceof MounterError)) throw error;
    return [{ volume: '', ready: false, reason: error.message }];
  }
}

async function lookAt(
  host: Host,
  pod: LauncherPod,
  wanted: WantedVolume,
  patience: number,
): Promise<ReadyReport> {
  const volume = volumeName(wanted);
  let socket: PodPath | undefined;
  try {
    socket = socketOf(host, pod, wanted);
    using process = await containerBehind(host, socket, patience);
    return { volume, ready: true, socket: host.text(socket), pid: process.pid };
  } catch (error) {
    const where = socket === undefined ? {} : { socket: host.text(socket) };
    return { volume, ready: false, ...where, reason: messageOf(error) };
  }
}

function socketOf(host: Host, pod: LauncherPod, wanted: WantedVolume): PodPath {
  switch (wanted.kind) {
    case 'containerDisk':
      return pod.containerDiskSocket(wanted.index);
    case 'kernelBoot':
      return pod.kernelBootSocket;
    case 'hotplugContainerDisk':
      return attachmentPod(host, wanted).containerDiskSocket(wanted.name);
    case 'hotplugVolume':
      throw new MounterError('EUNSUPPORTED', `${wanted.name} is no container disk`);
  }
}
