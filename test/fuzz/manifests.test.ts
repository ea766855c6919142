import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { stringify } from 'yaml';
import { ManifestError } from '../../src/kubevirt/manifest-error.ts';
import { isLabel, isUid } from '../../src/kubevirt/names.ts';
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import { answer, fuzz, plain } from '../support/fuzz.ts';
import { mutated } from '../support/mutations.ts';

const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,10}[a-z0-9])?$/);
const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const path = fc.stringMatching(/^\/[ -~]{1,30}$/);

const source = fc.oneof(
  fc.record(
    { containerDisk: fc.record({ image: text, path, hotpluggable: fc.boolean() }, plain) },
    plain,
  ),
  fc.record(
    { persistentVolumeClaim: fc.record({ claimName: label, hotpluggable: fc.boolean() }, plain) },
    plain,
  ),
  fc.record({ cloudInitNoCloud: fc.record({ userData: text }, plain) }, plain),
);
const volume = fc.tuple(label, source).map(([name, each]) => ({ name, ...each }));

const machine = fc.record(
  {
    kind: fc.constant('VirtualMachineInstance'),
    metadata: fc.record({ name: label, namespace: label, uid: fc.uuid() }, plain),
    spec: fc.record(
      {
        volumes: fc.uniqueArray(volume, { maxLength: 5, selector: ({ name }) => name }),
      },
      plain,
    ),
    status: fc.record({ activePods: fc.dictionary(fc.uuid(), label, { maxKeys: 3 }) }, plain),
  },
  plain,
);

const machines = fc.uniqueArray(machine, {
  minLength: 1,
  maxLength: 3,
  selector: ({ metadata }) => metadata.uid,
});
type Machines = typeof machines extends fc.Arbitrary<infer Value> ? Value : never;

const forms: readonly ((items: Machines) => string)[] = [
  (items) => JSON.stringify({ kind: 'List', items }),
  (items) => stringify({ kind: 'VirtualMachineInstanceList', items }),
  (items) => items.map((each) => `---\n${stringify(each)}`).join(''),
  (items) => items.map((each) => `---\n${JSON.stringify(each)}\n`).join(''),
];

fuzz(t, 'manifests: JSON, YAML and lists are read alike', machines, (items) => {
  for (const form of forms) {
    const read = readVirtualMachineInstances(form(items), 'vm');
    const seen = read.map(({ name, namespace, uid, volumes, activePods }) => ({
      metadata: { name, namespace, uid },
      volumes: volumes.map((each) => each.name),
      paths: volumes.map((each) =>
        each.source?.kind === 'containerDisk' ? each.source.path : undefined,
      ),
      activePods,
    }));
    const wanted = items.map(({ metadata, spec, status }) => ({
      metadata: { ...metadata },
      volumes: spec.volumes.map(({ name }) => name),
      paths: spec.volumes.map((each) =>
        'containerDisk' in each ? each.containerDisk.path : undefined,
      ),
      activePods: new Map(Object.entries(status.activePods)),
    }));
    assert.deepEqual(seen, wanted);
  }
});

const files = fc
  .tuple(machines, fc.constantFrom(...forms))
  .map(([items, form]) => Buffer.from(form(items)));

fuzz(t, 'manifests: mutated', mutated(files), (bytes) => {
  const run = () => readVirtualMachineInstances(bytes.toString('utf8'), 'vm');
  for (const { uid, namespace, volumes } of answer(run, ManifestError) ?? []) {
    assert.ok(isUid(uid) && isLabel(namespace));
    assert.ok(volumes.every(({ name }) => isLabel(name)));
  }
});
