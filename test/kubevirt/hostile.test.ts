import { closeSync, openSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { manifestLimit, yamlLimit } from '../../src/kubevirt/manifest-documents.ts';
import { readManifestFile } from '../../src/kubevirt/manifest-file.ts';
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { vmi } from './manifests.ts';

const read = (text: string) => readVirtualMachineInstances(text, 'vm.yaml');

/** Runs it and gives the milliseconds it took. */
function timed(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

t.test('a text over the limit', async (t) => {
  const text = JSON.stringify(vmi({ metadata: { annotations: { a: 'x'.repeat(manifestLimit) } } }));
  t.throws(() => read(text), {
    code: 'ETOOBIG',
    message: 'vm.yaml: is larger than 16 MiB, the most that is read',
  });
  t.throws(() => read('ü'.repeat(manifestLimit / 2 + 1)), { code: 'ETOOBIG' }, 'bytes are counted');
});

t.test('a text just below the limit', async (t) => {
  const room = manifestLimit - JSON.stringify(vmi({ metadata: { annotations: { a: '' } } })).length;
  const text = JSON.stringify(vmi({ metadata: { annotations: { a: 'x'.repeat(room) } } }));
  t.equal(read(text).length, 1);
});

t.test('YAML has a lower limit, as it takes more to read', async (t) => {
  const block = '  xxxxxxxxxxxxxxxx\n'.repeat(yamlLimit / 19);
  t.equal(read(`metadata: {name: a, uid: b}\nx: |\n${block}`.slice(0, yamlLimit)).length, 1);
  t.throws(() => read(`metadata: {name: a, uid: b}\nx: |\n${block}${block}`), {
    code: 'ETOOBIG',
    message: /larger than 4 MiB, the most that is read of YAML; as JSON/,
  });
  t.throws(() => read(`{"metadata": ${' '.repeat(yamlLimit)}`), {
    code: 'ETOOBIG',
    message: /of YAML \(as JSON: /,
  });
});

t.test('a file is read to the limit and no further', async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'vm.json');
  writeFileSync(file, JSON.stringify(vmi()));
  t.equal(readManifestFile(file), JSON.stringify(vmi()));
  t.throws(() => readManifestFile('/dev/zero'), { code: 'ETOOBIG', message: /^\/dev\/zero: / });
  truncateSync(file, 2 ** 40);
  t.throws(() => readManifestFile(file), { code: 'ETOOBIG' });
  t.throws(() => readManifestFile(join(directory, 'none')), { code: 'ENOENT' });
  t.throws(() => readManifestFile(directory), { code: 'EISDIR' });
  const fd = openSync(file, 'r');
  closeSync(fd);
  t.equal(fd, openSync(file, 'r'), 'no descriptor is left open by a failure');
  closeSync(fd);
});

t.test('aliases of YAML that multiply', async (t) => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 12; level += 1) {
    const alias = `*a${level - 1}`;
    lines.push(`a${level}: &a${level} [${Array(10).fill(alias).join(', ')}]`);
  }
  const milliseconds = timed(() => t.throws(() => read(lines.join('\n')), { code: 'ESYNTAX' }));
  t.ok(milliseconds < 2000, `${milliseconds} ms`);
});

t.test('an alias to itself', async (t) => {
  const [instance] = read(
    '&a {metadata: {name: a, uid: b}, spec: {volumes: [{name: c, containerDisk: *a}]}}',
  );
  t.match(instance?.volumes, [{ name: 'c', source: { path: undefined, hotpluggable: false } }]);
});

t.test('deep nesting', async (t) => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const depth = 200_000;
    const nested = `${open.repeat(depth)}1${close.repeat(depth)}`;
    t.throws(() => read(`x: ${nested}`), { code: 'ESYNTAX' }, 'YAML');
    t.equal(read(`{"metadata":{"name":"a","uid":"b"},"x":${nested}}`).length, 1, 'JSON');
  }
});

t.test('many keys, many documents', async (t) => {
  const keys = Array.from({ length: 50_000 }, (_, index) => `  k${index}: ""\n`).join('');
  const text = `metadata:\n  name: a\n  uid: b\nx:\n${keys}`;
  t.ok(timed(() => t.equal(read(text).length, 1)) < 5000, 'time grows with the length');
  const documents = Array.from(
    { length: 5000 },
    (_, index) => `metadata: {name: a, uid: u${index}}`,
  );
  t.ok(timed(() => t.equal(read(documents.join('\n---\n')).length, 5000)) < 5000, 'documents');
});

t.test('prototypes', async (t) => {
  const polluted = '{"polluted":true,"name":"p","uid":"p","containerDisk":{"path":"/p"}}';
  for (const text of [
    `{"metadata":{"name":"a","uid":"b","__proto__":${polluted}},"__proto__":${polluted},"spec":{"volumes":[{"name":"v","__proto__":${polluted}}]}}`,
    `metadata: {name: a, uid: b, __proto__: ${polluted}}\n__proto__: ${polluted}\nspec: {volumes: [{name: v, __proto__: ${polluted}}]}\n`,
    `metadata: {name: a, uid: b}\nconstructor: {prototype: ${polluted}}\nspec: {volumes: [{name: v}]}\n`,
  ]) {
    const [instance] = read(text);
    t.match(instance, { name: 'a', uid: 'b', volumes: [{ name: 'v', source: undefined }] });
    t.equal(Reflect.get({}, 'polluted'), undefined);
  }
  t.throws(() => read('{"__proto__":{"metadata":{"name":"a","uid":"b"}}}'), {
    name: 'ManifestError',
    field: 'metadata.name',
  });
  t.throws(() => read(JSON.stringify(vmi({ status: { activePods: 7 } }))), {
    name: 'ManifestError',
    field: 'status.activePods',
  });
  const [instance] = read(
    `{"metadata":{"name":"a","uid":"b"},"status":{"activePods":{"constructor":"n"}}}`,
  );
  t.strictSame([...(instance?.activePods ?? [])], [['constructor', 'n']]);
});
