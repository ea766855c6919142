import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { DaemonSet } from 'kubernetes-models/apps/v1';
import { Pod } from 'kubernetes-models/v1';
import t from 'tap';
import packageJson from '../../package.json' with { type: 'json' };
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import { wantedVolumes } from '../../src/kubevirt/wanted-volumes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { example } from './example.ts';

const root = join(import.meta.dirname, '../..');

/** Manifests of Kubernetes, with the name of their type and where it is. */
const kubernetes = [
  ['launcher-pod.yaml', 'IPod', 'kubernetes-models/v1'],
  ['attachment-pod.yaml', 'IPod', 'kubernetes-models/v1'],
  ['mounter-daemonset.yaml', 'IDaemonSet', 'kubernetes-models/apps/v1'],
] as const;

t.test('the schema of Kubernetes', async (t) => {
  for (const [name] of kubernetes) {
    // It is the validation that finds out what it is.
    const manifest = example(name) as never;
    const model = name === 'mounter-daemonset.yaml' ? new DaemonSet(manifest) : new Pod(manifest);
    t.doesNotThrow(() => model.validate(), name);
  }
  t.throws(() => new Pod({ spec: { containers: [] }, kind: 'Cod' } as object).validate());
});

t.test('the types of Kubernetes, which know every field', async (t) => {
  const project = temporaryDirectory(t);
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
  const check = (texts: readonly string[]) => {
    writeFileSync(join(project, 'manifests.ts'), texts.join('\n'));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--types', 'node'];
    return spawnSync(process.execPath, [compiler, ...options, '--skipLibCheck', 'manifests.ts'], {
      cwd: project,
      encoding: 'utf8',
    });
  };
  const texts = kubernetes.map(
    ([name, type, from], index) =>
      `import type { ${type} as Type${index} } from '${from}';\nexport const manifest${index}: Type${index} = ${JSON.stringify(example(name))};`,
  );
  t.match(check(texts), { status: 0, stdout: '' });
  const misspelt = texts.map((text) => text.replace('volumeMounts', 'volumeMount'));
  t.match(check(misspelt).stdout, /"volumeMount"' does not exist in type 'IContainer'/);
});

t.test('the VMI', async (t) => {
  const text = readFileSync(join(root, 'docs/examples/virtual-machine-instance.yaml'), 'utf8');
  const [instance, more] = readVirtualMachineInstances(text, 'virtual-machine-instance.yaml');
  t.equal(more, undefined);
  if (instance === undefined) throw new Error('no VMI');
  t.strictSame(
    wantedVolumes(instance).map((volume) => ('name' in volume ? volume.name : volume.kind)),
    ['root', 'tools', 'extra', 'data', 'scratch', 'kernelBoot'],
  );
});

/** `spec.configuration` of KubeVirt, as far as it is used here. */
const kubeVirtSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['apiVersion', 'kind', 'metadata', 'spec'],
  properties: {
    apiVersion: { const: 'kubevirt.io/v1' },
    kind: { const: 'KubeVirt' },
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      additionalProperties: false,
      properties: {
        configuration: {
          type: 'object',
          additionalProperties: false,
          properties: {
            developerConfiguration: {
              type: 'object',
              additionalProperties: false,
              properties: { featureGates: { type: 'array', items: { type: 'string' } } },
            },
            supportContainerResources: {
              type: 'array',
              items: {
                type: 'object',
                additionalProperties: false,
                required: ['type', 'resources'],
                properties: {
                  type: { enum: ['container-disk', 'hotplug-disk'] },
                  resources: { type: 'object' },
                },
              },
            },
          },
        },
      },
    },
  },
};

t.test('the settings of KubeVirt', async (t) => {
  const validate = new Ajv().compile(kubeVirtSchema);
  const manifest = example('kubevirt.yaml');
  t.ok(validate(manifest), JSON.stringify(validate.errors));
  t.notOk(validate({ ...manifest, configuration: {} }));
  // Resources have the form that they have in a container.
  const text = readFileSync(join(root, 'docs/examples/kubevirt.yaml'), 'utf8');
  t.match(
    text,
    /container-disk\n +resources:\n +requests: .*\n +limits: \{ cpu: 100m, memory: 40M \}/,
  );
});

t.test('versions, and files that are named', async (t) => {
  const directory = join(root, 'docs/examples');
  for (const name of readdirSync(directory)) {
    const text = readFileSync(join(directory, name), 'utf8');
    for (const [, version] of text.matchAll(/container-disk(?:-mounter)?[-:](\d+\.\d+\.\d+)/g)) {
      t.equal(version, packageJson.version, name);
    }
    for (const [, file = ''] of text.matchAll(/\b(Dockerfile\.[a-z-]+|[a-z-]+\.yaml)\b/g)) {
      if (file !== 'vmi.yaml') t.ok(readdirSync(directory).includes(file), `${name}: ${file}`);
    }
  }
});
