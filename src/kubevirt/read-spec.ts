import { basename } from 'node:path';
import type { Field } from './field.ts';
import { labelOf, pathOf, required } from './names.ts';
import type { KernelBoot, Volume, VolumeSource } from './virtual-machine-instance.ts';

/** `spec.volumes` and `spec.utilityVolumes`: every name at most once in both. */
export function readVolumes(spec: Field): { volumes: Volume[]; utilityVolumes: string[] } {
  const firstUse = new Map<string, string>();
  const nameOf = (entry: Field) => {
    const field = entry.get('name');
    const name = required(field, labelOf(field));
    const earlier = firstUse.get(name);
    if (earlier !== undefined) throw field.error(`"${name}" is already the name of ${earlier}`);
    firstUse.set(name, entry.path);
    return name;
  };
  return {
    volumes: spec
      .get('volumes')
      .list()
      .map((entry, index) => ({ index, name: nameOf(entry), source: readSource(entry) })),
    utilityVolumes: spec.get('utilityVolumes').list().map(nameOf),
  };
}

function readSource(volume: Field): VolumeSource | undefined {
  const sources: VolumeSource[] = [];
  const containerDisk = volume.get('containerDisk');
  if (containerDisk.present) {
    sources.push({
      kind: 'containerDisk',
      image: containerDisk.get('image').string(),
      path: pathOf(containerDisk.get('path')),
      hotpluggable: containerDisk.get('hotpluggable').boolean(),
    });
  }
  for (const kind of ['persistentVolumeClaim', 'dataVolume', 'memoryDump'] as const) {
    const source = volume.get(kind);
    if (!source.present) continue;
    sources.push({
      kind,
      claim: source.get(kind === 'dataVolume' ? 'name' : 'claimName').string(),
      hotpluggable: source.get('hotpluggable').boolean(),
    });
  }
  if (sources.length > 1) {
    const kinds = sources.map((source) => source.kind).join(' and ');
    throw volume.error(`has ${kinds}, where a volume has one source`);
  }
  return sources[0];
}

export function readKernelBoot(spec: Field): KernelBoot | undefined {
  const container = spec.get('domain').get('firmware').get('kernelBoot').get('container');
  if (!container.present) return undefined;
  const kernelPath = fileOf(container.get('kernelPath'));
  const initrdField = container.get('initrdPath');
  const initrdPath = fileOf(initrdField);
  if (kernelPath && initrdPath && basename(kernelPath) === basename(initrdPath)) {
    throw initrdField.error('ends in the same name as kernelPath, and one would hide the other');
  }
  return { image: container.get('image').string(), kernelPath, initrdPath };
}

/** A path whose last name can be the name of its target. */
function fileOf(field: Field): string | undefined {
  const path = pathOf(field);
  if (path !== undefined && ['', '.', '..'].includes(basename(path))) {
    throw field.error('does not end in the name of a file');
  }
  return path;
}
