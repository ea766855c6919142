import type { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { VirtualMachineInstance } from '../kubevirt/virtual-machine-instance.ts';
import { type WantedVolume, wantedVolumes } from '../kubevirt/wanted-volumes.ts';
import type { Artifact } from './artifact.ts';
import { artifactsOf, volumeName } from './artifacts-of.ts';
import { checksumOf } from './disk/checksum.ts';
import { reopenForReading } from './disk-in-image.ts';
import type { Host } from './host.ts';
import { launcherOf } from './launcher-of.ts';
import { MounterError, reasonOf } from './mounter-error.ts';
import type { RunContext } from './run-context.ts';

/** CRC-32 of what a volume's image holds, beside the one in status. */
export interface ChecksumReport {
  /** The volume's name, `kernel` or `initrd`. */
  readonly volume: string;
  /** An unsigned number of 32 bits. */
  readonly checksum?: number;
  /** `containerDiskVolume.checksum` or that of kernelBootStatus; undefined where status has none. */
  readonly expected?: number;
  readonly error?: Error;
}

/** The checksum of each container disk and of kernel boot, by reading all of them. */
export async function checksums(
  { host }: RunContext,
  instance: VirtualMachineInstance,
  signal: AbortSignal | undefined,
): Promise<ChecksumReport[]> {
  const { pod, node } = launcherOf(host, instance);
  const reports: ChecksumReport[] = [];
  for (const wanted of wantedVolumes(instance, { node })) {
    if (wanted.kind === 'hotplugVolume') continue;
    signal?.throwIfAborted();
    try {
      reports.push(...(await checksumsOf(host, pod, wanted, signal)));
    } catch (error) {
      signal?.throwIfAborted();
      const reason = reasonOf(error);
      reports.push({ volume: volumeName(wanted), error: reason });
    }
  }
  return reports;
}

async function checksumsOf(
  host: Host,
  pod: LauncherPod,
  wanted: WantedVolume,
  signal: AbortSignal | undefined,
): Promise<ChecksumReport[]> {
  const artifacts = await openArtifacts(host, pod, wanted);
  try {
    const reports: ChecksumReport[] = [];
    for (const { volume, source } of artifacts) {
      using file = reopenForReading(source);
      const checksum = await checksumOf(file.number, { signal });
      const expected = expectedOf(wanted, volume);
      reports.push({ volume, checksum, ...(expected === undefined ? {} : { expected }) });
    }
    return reports;
  } finally {
    for (const artifact of artifacts) artifact[Symbol.dispose]();
  }
}

/** The pod's directories are not held while whole disks are read. */
async function openArtifacts(
  node: Host,
  pod: LauncherPod,
  wanted: WantedVolume,
): Promise<Artifact[]> {
  using host = node.again();
  return await artifactsOf(host, pod, wanted);
}

/**
 * The same, where each has to be what status says: a migration must not start from another image. A checksum that
 * status does not have is nothing to compare with, as virt-handler has it.
 */
export async function verifyChecksums(
  context: RunContext,
  instance: VirtualMachineInstance,
  signal: AbortSignal | undefined,
): Promise<ChecksumReport[]> {
  const reports = await checksums(context, instance, signal);
  return reports.map((report) => {
    const { volume, checksum, expected } = report;
    if (checksum === undefined || expected === undefined || checksum === expected) return report;
    const error = new MounterError(
      'ECHECKSUM',
      `the checksum of ${volume} is ${checksum}, and ${expected} in the status of the virtual machine: its image is another one`,
    );
    return { ...report, error };
  });
}

function expectedOf(wanted: WantedVolume, volume: string): number | undefined {
  if (wanted.kind === 'kernelBoot') {
    return volume === 'kernel' ? wanted.kernelChecksum : wanted.initrdChecksum;
  }
  return wanted.kind === 'hotplugVolume' ? undefined : wanted.checksum;
}
