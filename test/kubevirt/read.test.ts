import t from 'tap';
import { stringify } from 'yaml';
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import { uid, vmi } from './manifests.ts';

const full = {
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name: 'web.1', namespace: 'shop', uid, labels: { any: 'thing' }, generation: 3 },
  spec: {
    domain: {
      devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }] },
      firmware: {
        kernelBoot: {
          kernelArgs: 'console=ttyS0',
          container: { image: 'boot:1', kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd' },
        },
      },
    },
    volumes: [
      { name: 'config', cloudInitNoCloud: { userData: '#cloud-config' } },
      { name: 'root', containerDisk: { image: 'disk:1' } },
      { name: 'extra', containerDisk: { image: 'disk:2', path: '/a/b.img', hotpluggable: true } },
      { name: 'claim', persistentVolumeClaim: { claimName: 'pvc-1', hotpluggable: true } },
      { name: 'data', dataVolume: { name: 'dv-1' } },
      { name: 'dump', memoryDump: { claimName: 'pvc-2', hotpluggable: true } },
    ],
    utilityVolumes: [{ name: 'backup', claimName: 'pvc-3', type: 'Backup' }],
  },
  status: {
    activePods: { [uid]: 'node-1', '1b2c': '' },
    volumeStatus: [
      { name: 'root', target: 'vda', containerDiskVolume: { checksum: 4294967295 } },
      {
        name: 'claim',
        target: '',
        hotplugVolume: { attachPodName: 'hp-1', attachPodUID: 'aaaa-1' },
        persistentVolumeClaimInfo: { claimName: 'pvc-1', volumeMode: 'Block' },
      },
      { name: 'dump', target: '', hotplugVolume: {}, memoryDumpVolume: { claimName: 'pvc-2' } },
    ],
    kernelBootStatus: { kernelInfo: { checksum: 7 }, initrdInfo: { checksum: 0 } },
    migrationState: { completed: true, targetNode: 'node-2', targetAttachmentPodUID: 'bbbb-2' },
    migratedVolumes: [
      {
        volumeName: 'claim',
        sourcePVCInfo: { volumeMode: 'Block' },
        destinationPVCInfo: { volumeMode: 'Filesystem' },
      },
    ],
  },
};

const expected = {
  name: 'web.1',
  namespace: 'shop',
  uid,
  volumes: [
    { index: 0, name: 'config', source: undefined },
    {
      index: 1,
      name: 'root',
      source: { kind: 'containerDisk', image: 'disk:1', path: undefined, hotpluggable: false },
    },
    {
      index: 2,
      name: 'extra',
      source: { kind: 'containerDisk', image: 'disk:2', path: '/a/b.img', hotpluggable: true },
    },
    {
      index: 3,
      name: 'claim',
      source: { kind: 'persistentVolumeClaim', claim: 'pvc-1', hotpluggable: true },
    },
    {
      index: 4,
      name: 'data',
      source: { kind: 'dataVolume', claim: 'dv-1', hotpluggable: false },
    },
    {
      index: 5,
      name: 'dump',
      source: { kind: 'memoryDump', claim: 'pvc-2', hotpluggable: true },
    },
  ],
  utilityVolumes: ['backup'],
  kernelBoot: { image: 'boot:1', kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd' },
  activePods: new Map([
    [uid, 'node-1'],
    ['1b2c', ''],
  ]),
  volumeStatus: new Map([
    [
      'root',
      {
        hotplugged: false,
        attachPodUID: undefined,
        volumeMode: undefined,
        memoryDump: false,
        checksum: 4294967295,
      },
    ],
    [
      'claim',
      {
        hotplugged: true,
        attachPodUID: 'aaaa-1',
        volumeMode: 'Block',
        memoryDump: false,
        checksum: undefined,
      },
    ],
    [
      'dump',
      {
        hotplugged: true,
        attachPodUID: undefined,
        volumeMode: undefined,
        memoryDump: true,
        checksum: undefined,
      },
    ],
  ]),
  kernelBootStatus: { kernelChecksum: 7, initrdChecksum: undefined },
  migration: { completed: true, targetNode: 'node-2', targetAttachmentPodUID: 'bbbb-2' },
  migratedVolumes: new Map([
    ['claim', { sourceVolumeMode: 'Block', destinationVolumeMode: 'Filesystem' }],
  ]),
};

t.test('every field, from JSON and from YAML', async (t) => {
  t.strictSame(readVirtualMachineInstances(JSON.stringify(full), 'a.json'), [expected]);
  t.strictSame(readVirtualMachineInstances(stringify(full), 'a.yaml'), [expected]);
  t.strictSame(readVirtualMachineInstances(`# a comment\n---\n${stringify(full)}`, 'a.yaml'), [
    expected,
  ]);
});

t.test('the least that there can be', async (t) => {
  const [instance] = readVirtualMachineInstances(
    JSON.stringify({ metadata: { name: 'a', uid: 'b' }, spec: null }),
    'a.json',
  );
  t.strictSame(instance, {
    name: 'a',
    namespace: 'default',
    uid: 'b',
    volumes: [],
    utilityVolumes: [],
    kernelBoot: undefined,
    activePods: new Map(),
    volumeStatus: new Map(),
    kernelBootStatus: { kernelChecksum: undefined, initrdChecksum: undefined },
    migration: undefined,
    migratedVolumes: new Map(),
  });
});

t.test('null and the empty string are the same as absent', async (t) => {
  const [instance] = readVirtualMachineInstances(
    JSON.stringify(
      vmi({
        spec: {
          volumes: [{ name: 'a', containerDisk: { image: '', path: '', hotpluggable: null } }],
          utilityVolumes: null,
          domain: { firmware: null },
        },
        status: { activePods: null, migrationState: null, volumeStatus: null },
      }),
    ),
    'a.json',
  );
  t.strictSame(instance?.volumes, [
    {
      index: 0,
      name: 'a',
      source: { kind: 'containerDisk', image: undefined, path: undefined, hotpluggable: false },
    },
  ]);
  t.equal(instance?.migration, undefined);
});

t.test('one object, a list, a stream', async (t) => {
  const names = (text: string) =>
    readVirtualMachineInstances(text, 'stdin').map((instance) => instance.name);
  const [a, b] = [vmi({}, 'a'), vmi({}, 'b')];
  const plain = { ...vmi({}, 'c'), kind: undefined, apiVersion: undefined };
  t.strictSame(names(JSON.stringify(a)), ['a']);
  t.strictSame(names(JSON.stringify({ kind: 'List', items: [a, b] })), ['a', 'b']);
  t.strictSame(
    names(JSON.stringify({ kind: 'VirtualMachineInstanceList', items: [a, plain] })),
    ['a', 'c'],
    'objects in a typed list have no kind of their own',
  );
  t.strictSame(names(JSON.stringify({ kind: 'List', items: [] })), [], 'a node without machines');
  t.strictSame(
    names(
      [stringify(a), '', stringify({ kind: 'List', items: [b] }), stringify(plain)].join('---\n'),
    ),
    ['a', 'b', 'c'],
  );
  t.strictSame(
    names(JSON.stringify({ ...a, kind: 'InternalVirtualizationVirtualMachineInstance' })),
    ['a'],
    'a platform that renames the kind',
  );
  t.strictSame(
    names('{kind: VirtualMachineInstance, metadata: {name: a, uid: b}}'),
    ['a'],
    'flow YAML',
  );
  t.strictSame(
    names('x: &m {name: a, uid: b}\nkind: VirtualMachineInstance\nmetadata: *m\n'),
    ['a'],
    'an alias',
  );
});

t.test('of a key that is there twice the last one counts', async (t) => {
  for (const text of [
    '{"metadata": {"name": "a", "uid": "b", "uid": "c"}}',
    'metadata: {name: a, uid: b, uid: c}',
  ]) {
    t.equal(readVirtualMachineInstances(text, 'stdin')[0]?.uid, 'c');
  }
});
