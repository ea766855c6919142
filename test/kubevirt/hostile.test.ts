import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { manifestLimit, yamlLimit } from '../../src/kubevirt/manifest-documents.ts';
import { ManifestError } from '../../src/kubevirt/manifest-error.ts';
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
  t.equal(await readManifestFile(file), JSON.stringify(vmi()));
  const open = readdirSync('/proc/self/fd').length;
  await t.rejects(readManifestFile('/dev/zero'), { code: 'ETOOBIG', message: /^\/dev\/zero: / });
  truncateSync(file, 2 ** 40);
  await t.rejects(readManifestFile(file), { code: 'ETOOBIG' });
  await t.rejects(readManifestFile(join(directory, 'none')), {
    code: 'EREAD',
    cause: { code: 'ENOENT' },
  });
  await t.rejects(readManifestFile(directory), { code: 'EREAD', cause: { code: 'EISDIR' } });
  t.equal(readdirSync('/proc/self/fd').length, open, 'no descriptor is left open');
});

t.test('standard input, that comes in parts or too large', async (t) => {
  const reader = `
    import { readManifestFile } from '${import.meta.dirname}/../../src/kubevirt/manifest-file.ts';
    readManifestFile('-').then((text) => console.log(text.length), (error) => console.log(error.message));`;
  const read = async (...parts: string[]) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', reader], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    // What is left is not read any more.
    child.stdin.on('error', () => {});
    for (const part of parts) {
      child.stdin.write(part);
      await sleep(50);
    }
    child.stdin.end();
    await once(child, 'close');
    return output.trim();
  };
  t.equal(await read('{"a":', ' 1}'), '8');
  t.equal(await read(), '0');
  t.equal(
    await read('x'.repeat(manifestLimit), 'x'),
    'standard input: is larger than 16 MiB, the most that is read',
  );
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
    t.throws(
      () => read(`x: ${nested}`),
      { code: 'ESYNTAX', message: /it is nested too deeply/ },
      'YAML',
    );
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

/** The value, and copies of it with another value in place of each part. */
function* replaced(value: unknown, others: readonly unknown[]): Generator<unknown> {
  yield* others;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    for (const other of replaced(part, others)) {
      const copy = structuredClone(value);
      Reflect.set(copy, key, other);
      yield copy;
    }
  }
}

t.test('any value in place of any other: it is read, or refused by the field', async (t) => {
  const manifest = vmi({
    spec: {
      domain: { firmware: { kernelBoot: { container: { kernelPath: '/k', initrdPath: '/i' } } } },
      volumes: [
        { name: 'a', containerDisk: { image: 'i', path: '/d', hotpluggable: true } },
        { name: 'b', persistentVolumeClaim: { claimName: 'c', hotpluggable: true } },
        { name: 'c', dataVolume: { name: 'd' } },
        { name: 'd', memoryDump: { claimName: 'e' } },
      ],
      utilityVolumes: [{ name: 'e' }],
    },
    status: {
      activePods: { u: 'n' },
      volumeStatus: [
        {
          name: 'b',
          hotplugVolume: { attachPodUID: 'u' },
          persistentVolumeClaimInfo: { volumeMode: 'Block' },
          containerDiskVolume: { checksum: 1 },
          memoryDumpVolume: {},
        },
      ],
      kernelBootStatus: { kernelInfo: { checksum: 1 }, initrdInfo: { checksum: 1 } },
      migrationState: { completed: true, targetNode: 'n', targetAttachmentPodUID: 'u' },
      migratedVolumes: [
        { volumeName: 'b', sourcePVCInfo: { volumeMode: 'Block' }, destinationPVCInfo: {} },
      ],
    },
  });
  const others = [
    null,
    true,
    -1,
    1e300,
    '',
    'x',
    '../..',
    '\0',
    [],
    [null],
    [[]],
    {},
    { x: { y: 1 } },
  ];
  let count = 0;
  let refused = 0;
  for (const other of replaced(manifest, others)) {
    count += 1;
    try {
      for (const instance of read(JSON.stringify(other))) {
        const uids = [instance.uid, ...instance.activePods.keys()];
        const names = instance.volumes.map((volume) => volume.name);
        if (![...uids, ...names].every((name) => /^[A-Za-z0-9-]+$/.test(name))) {
          t.fail(JSON.stringify(other));
        }
      }
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      refused += 1;
    }
  }
  t.ok(count > 700 && refused > 300, `${refused} of ${count} were refused`);
});
