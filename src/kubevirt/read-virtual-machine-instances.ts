import { Field } from './field.ts';
import { manifestDocuments } from './manifest-documents.ts';
import { ManifestError } from './manifest-error.ts';
import { labelOf, required, subdomainOf, uidOf } from './names.ts';
import { printable } from './printable.ts';
import { readKernelBoot, readVolumes } from './read-spec.ts';
import {
  readActivePods,
  readKernelBootStatus,
  readMigratedVolumes,
  readMigration,
  readVolumeStatus,
} from './read-status.ts';
import type { VirtualMachineInstance } from './virtual-machine-instance.ts';

/**
 * The VirtualMachineInstances in a text: JSON, or any number of YAML documents, each of them one object
 * or a list (`List`, `VirtualMachineInstanceList`). Only the fields of {@link VirtualMachineInstance}
 * are read, all others are ignored.
 *
 * @param source what the text was read from, for the messages
 * @throws {ManifestError} that names the field
 */
export function readVirtualMachineInstances(
  text: string,
  source: string,
): VirtualMachineInstance[] {
  const documents = manifestDocuments(text, source);
  if (documents.length === 0) {
    throw new ManifestError(
      'EKIND',
      source,
      'is empty, where a VirtualMachineInstance is expected',
    );
  }
  const objects = documents.flatMap((document, index) => {
    const place = documents.length === 1 ? source : `${source}, document ${index + 1}`;
    return objectsIn(new Field(place, document));
  });
  const instances = new Map<string, VirtualMachineInstance>();
  for (const object of objects) {
    const instance = readInstance(object);
    if (instances.has(instance.uid)) {
      throw object.get('metadata').get('uid').error(`"${instance.uid}" is there twice`);
    }
    instances.set(instance.uid, instance);
  }
  return [...instances.values()];
}

/** Platforms that are built on KubeVirt put a word before its kinds; objects inside a list often have no kind. */
function objectsIn(document: Field): Field[] {
  const kind = document.get('kind');
  if (/^List$|VirtualMachineInstanceList$/.test(kind.string() ?? '')) {
    return document.get('items').list().map(expectInstance);
  }
  return [expectInstance(document)];
}

function expectInstance(object: Field): Field {
  const field = object.get('kind');
  const kind = field.string() ?? 'VirtualMachineInstance';
  if (!kind.endsWith('VirtualMachineInstance')) {
    throw field.error(`expected VirtualMachineInstance, got "${printable(kind)}"`);
  }
  return object;
}

function readInstance(object: Field): VirtualMachineInstance {
  const metadata = object.get('metadata');
  const name = metadata.get('name');
  const uid = metadata.get('uid');
  const spec = object.get('spec');
  const status = object.get('status');
  return {
    name: required(name, subdomainOf(name)),
    namespace: labelOf(metadata.get('namespace')) ?? 'default',
    uid: required(uid, uidOf(uid)),
    ...readVolumes(spec),
    kernelBoot: readKernelBoot(spec),
    activePods: readActivePods(status),
    volumeStatus: readVolumeStatus(status),
    kernelBootStatus: readKernelBootStatus(status),
    migration: readMigration(status),
    migratedVolumes: readMigratedVolumes(status),
  };
}
