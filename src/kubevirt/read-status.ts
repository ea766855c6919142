import type { Field } from './field.ts';
import { labelOf, required, subdomainOf, uidKey, uidOf } from './names.ts';
import { printable } from './printable.ts';
import type {
  KernelBootStatus,
  MigratedVolume,
  Migration,
  VolumeMode,
  VolumeStatus,
} from './virtual-machine-instance.ts';

export function readActivePods(status: Field): Map<string, string> {
  return new Map(
    status
      .get('activePods')
      .entries()
      .map(([key, node]) => [uidKey(key, node), subdomainOf(node) ?? '']),
  );
}

export function readVolumeStatus(status: Field): Map<string, VolumeStatus> {
  return byVolume(status.get('volumeStatus'), 'name', (entry) => {
    const hotplug = entry.get('hotplugVolume');
    return {
      hotplugged: hotplug.present,
      attachPodUID: uidOf(hotplug.get('attachPodUID')),
      volumeMode: volumeModeOf(entry.get('persistentVolumeClaimInfo')),
      memoryDump: entry.get('memoryDumpVolume').present,
      checksum: checksumOf(entry.get('containerDiskVolume')),
    };
  });
}

export function readKernelBootStatus(status: Field): KernelBootStatus {
  const kernelBoot = status.get('kernelBootStatus');
  return {
    kernelChecksum: checksumOf(kernelBoot.get('kernelInfo')),
    initrdChecksum: checksumOf(kernelBoot.get('initrdInfo')),
  };
}

export function readMigration(status: Field): Migration | undefined {
  const migration = status.get('migrationState');
  if (!migration.present) return undefined;
  return {
    completed: migration.get('completed').boolean(),
    targetNode: subdomainOf(migration.get('targetNode')),
    targetAttachmentPodUID: uidOf(migration.get('targetAttachmentPodUID')),
  };
}

export function readMigratedVolumes(status: Field): Map<string, MigratedVolume> {
  return byVolume(status.get('migratedVolumes'), 'volumeName', (entry) => ({
    sourceVolumeMode: volumeModeOf(entry.get('sourcePVCInfo')),
    destinationVolumeMode: volumeModeOf(entry.get('destinationPVCInfo')),
  }));
}

function byVolume<Value>(
  list: Field,
  nameField: string,
  read: (entry: Field) => Value,
): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const entry of list.list()) {
    const field = entry.get(nameField);
    const name = required(field, labelOf(field));
    if (values.has(name)) throw field.error(`"${name}" is there twice`);
    values.set(name, read(entry));
  }
  return values;
}

/** KubeVirt leaves out a checksum that it does not know, and a checksum of 0 with it. */
function checksumOf(info: Field): number | undefined {
  return info.get('checksum').uint32() || undefined;
}

function volumeModeOf(claim: Field): VolumeMode | undefined {
  const field = claim.get('volumeMode');
  const mode = field.string();
  if (mode === undefined || mode === 'Block' || mode === 'Filesystem') return mode;
  throw field.error(`expected Block or Filesystem, got "${printable(mode)}"`);
}
