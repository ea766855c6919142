import t from 'tap';
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import { refusal, uid, vmi } from './manifests.ts';

const withVolume = (volume: unknown) =>
  vmi({ spec: { volumes: [{ name: 'a' }, { name: 'b' }, volume] } });
const kernelBoot = (container: unknown) =>
  vmi({ spec: { domain: { firmware: { kernelBoot: { container } } } } });

const fields: [what: string, manifest: unknown, message: string | RegExp][] = [
  [
    'path a number',
    withVolume({ name: 'c', containerDisk: { path: 1 } }),
    'vm.yaml: spec.volumes[2].containerDisk.path: expected a string, got a number',
  ],
  ['spec a list', vmi({ spec: [] }), 'vm.yaml: spec: expected an object, got a list'],
  [
    'volumes an object',
    vmi({ spec: { volumes: {} } }),
    'vm.yaml: spec.volumes: expected a list, got an object',
  ],
  [
    'volume a string',
    withVolume('c'),
    'vm.yaml: spec.volumes[2]: expected an object, got a string',
  ],
  [
    'hotpluggable a string',
    withVolume({ name: 'c', dataVolume: { name: 'd', hotpluggable: 'yes' } }),
    'vm.yaml: spec.volumes[2].dataVolume.hotpluggable: expected a boolean, got a string',
  ],
  ['no name of a volume', withVolume({}), 'vm.yaml: spec.volumes[2].name: is missing'],
  [
    'a volume twice',
    withVolume({ name: 'a' }),
    'vm.yaml: spec.volumes[2].name: "a" is already the name of spec.volumes[0]',
  ],
  [
    'a utility volume with the name of a volume',
    vmi({ spec: { volumes: [{ name: 'a' }], utilityVolumes: [{ name: 'a' }] } }),
    'vm.yaml: spec.utilityVolumes[0].name: "a" is already the name of spec.volumes[0]',
  ],
  [
    'two sources',
    withVolume({ name: 'c', containerDisk: { image: 'i' }, dataVolume: { name: 'd' } }),
    'vm.yaml: spec.volumes[2]: has containerDisk and dataVolume, where a volume has one source',
  ],
  [
    'a NUL in a path',
    withVolume({ name: 'c', containerDisk: { path: '/disk\0/x' } }),
    'vm.yaml: spec.volumes[2].containerDisk.path: has a NUL character, which no path can have',
  ],
  [
    'a long path',
    withVolume({ name: 'c', containerDisk: { path: 'ü'.repeat(2048) } }),
    'vm.yaml: spec.volumes[2].containerDisk.path: is longer than a path can be (4095 bytes)',
  ],
  [
    'a kernel without a name',
    kernelBoot({ kernelPath: '/boot/..' }),
    'vm.yaml: spec.domain.firmware.kernelBoot.container.kernelPath: does not end in the name of a file',
  ],
  [
    'a kernel that is the root',
    kernelBoot({ kernelPath: '//' }),
    'vm.yaml: spec.domain.firmware.kernelBoot.container.kernelPath: does not end in the name of a file',
  ],
  [
    'a kernel and an initrd of one name',
    kernelBoot({ kernelPath: '/a/image', initrdPath: '/b/image' }),
    'vm.yaml: spec.domain.firmware.kernelBoot.container.initrdPath: ends in the same name as kernelPath, and one would hide the other',
  ],
  [
    'a checksum too large',
    vmi({ status: { volumeStatus: [{ name: 'a', containerDiskVolume: { checksum: 2 ** 32 } }] } }),
    'vm.yaml: status.volumeStatus[0].containerDiskVolume.checksum: expected an integer from 0 to 4294967295, got 4294967296',
  ],
  [
    'a checksum with a fraction',
    vmi({ status: { kernelBootStatus: { kernelInfo: { checksum: 0.5 } } } }),
    'vm.yaml: status.kernelBootStatus.kernelInfo.checksum: expected an integer from 0 to 4294967295, got 0.5',
  ],
  [
    'a volume mode',
    vmi({
      status: { volumeStatus: [{ name: 'a', persistentVolumeClaimInfo: { volumeMode: 'block' } }] },
    }),
    'vm.yaml: status.volumeStatus[0].persistentVolumeClaimInfo.volumeMode: expected Block or Filesystem, got "block"',
  ],
  [
    'a status twice',
    vmi({ status: { volumeStatus: [{ name: 'a' }, { name: 'a' }] } }),
    'vm.yaml: status.volumeStatus[1].name: "a" is there twice',
  ],
  [
    'a migrated volume without a name',
    vmi({ status: { migratedVolumes: [{}] } }),
    'vm.yaml: status.migratedVolumes[0].volumeName: is missing',
  ],
  ['no uid', vmi({ metadata: { uid: undefined } }), 'vm.yaml: metadata.uid: is missing'],
  ['an empty uid', vmi({ metadata: { uid: '' } }), 'vm.yaml: metadata.uid: is missing'],
  [
    'a name too long',
    vmi({ metadata: { name: 'a'.repeat(254) } }),
    `vm.yaml: metadata.name: "${'a'.repeat(100)}…${'a'.repeat(100)}" is not a name of at most 253 lower case letters, digits, "-" and "."`,
  ],
  ['no name', vmi({ metadata: { name: null } }), 'vm.yaml: metadata.name: is missing'],
  [
    'an escape sequence in a name',
    vmi({ metadata: { name: 'a\u001b[31m' } }),
    'vm.yaml: metadata.name: "a\\u{1b}[31m" is not a name of at most 253 lower case letters, digits, "-" and "."',
  ],
  [
    'another kind',
    { ...vmi(), kind: 'VirtualMachine' },
    'vm.yaml: kind: expected VirtualMachineInstance, got "VirtualMachine"',
  ],
  [
    'another kind in a list',
    { kind: 'List', items: [vmi(), { kind: 'Pod' }] },
    'vm.yaml: items[1].kind: expected VirtualMachineInstance, got "Pod"',
  ],
  [
    'a list in a list',
    { kind: 'List', items: [{ kind: 'List', items: [] }] },
    'vm.yaml: items[0].kind: expected VirtualMachineInstance, got "List"',
  ],
  [
    'a field in a list',
    { kind: 'List', items: [vmi({}, 'a'), vmi({ spec: { volumes: [{}] } }, 'b')] },
    'vm.yaml: items[1].spec.volumes[0].name: is missing',
  ],
  [
    'one machine twice',
    { kind: 'List', items: [vmi(), vmi()] },
    `vm.yaml: items[1].metadata.uid: "${uid}-vm" is there twice`,
  ],
  [
    'a type that only YAML has',
    '%YAML 1.1\n---\nmetadata: !!omap [name: a]\n',
    'vm.yaml: metadata: expected an object, got a value of a YAML type that Kubernetes does not have',
  ],
  [
    'the second document',
    'metadata: {name: a, uid: a}\n---\nmetadata: {name: a, uid: 7}\n',
    'vm.yaml, document 2: metadata.uid: expected a string, got a number',
  ],
];

t.test('fields', async (t) => {
  for (const [what, manifest, message] of fields) {
    const error = refusal(manifest);
    t.match(error, { code: 'EFIELD' }, what);
    t.equal(error.message, message, what);
    t.ok(error.field !== undefined && error.message.includes(`${error.field}: `), `${what}: field`);
  }
});

t.test('what would become part of a path', async (t) => {
  const bad = [
    '..',
    '.',
    '../x',
    'a/b',
    '/a',
    'a/',
    '-a',
    'a\0b',
    'a\nb',
    'a b',
    'ä',
    'a'.repeat(129),
  ];
  const uids: [field: string, manifest: (bad: string) => unknown][] = [
    ['metadata.uid', (uid) => vmi({ metadata: { uid } })],
    [
      'status.volumeStatus[0].hotplugVolume.attachPodUID',
      (attachPodUID) =>
        vmi({ status: { volumeStatus: [{ name: 'a', hotplugVolume: { attachPodUID } }] } }),
    ],
    [
      'status.migrationState.targetAttachmentPodUID',
      (targetAttachmentPodUID) => vmi({ status: { migrationState: { targetAttachmentPodUID } } }),
    ],
  ];
  for (const text of bad) {
    for (const [field, manifest] of uids) {
      t.match(
        refusal(manifest(text)),
        { code: 'EFIELD', field },
        `${field}: ${JSON.stringify(text)}`,
      );
    }
    const error = refusal(vmi({ status: { activePods: { [text]: 'node' } } }));
    t.match(error, { code: 'EFIELD', field: /^status\.activePods[.[]/ }, JSON.stringify(text));
  }
  for (const name of [...bad, 'A', 'a.b', 'a_b', 'a-', 'a'.repeat(64)]) {
    const volumes: [field: string, manifest: unknown][] = [
      ['spec.volumes[0].name', vmi({ spec: { volumes: [{ name }] } })],
      ['spec.utilityVolumes[0].name', vmi({ spec: { utilityVolumes: [{ name }] } })],
      ['status.volumeStatus[0].name', vmi({ status: { volumeStatus: [{ name }] } })],
      [
        'status.migratedVolumes[0].volumeName',
        vmi({ status: { migratedVolumes: [{ volumeName: name }] } }),
      ],
    ];
    for (const [field, manifest] of volumes) {
      t.match(refusal(manifest), { code: 'EFIELD', field }, `${field}: ${JSON.stringify(name)}`);
    }
  }
  t.doesNotThrow(() =>
    readVirtualMachineInstances(
      JSON.stringify(
        vmi({
          metadata: { uid: 'a'.repeat(128), name: `a.${'b'.repeat(251)}` },
          spec: { volumes: [{ name: 'a'.repeat(63) }, { name: '0' }] },
          status: { activePods: { '9eaf3b1c0f6d4b1f8a7e2d5c4b3a2910': 'node-1.example' } },
        }),
      ),
      'vm.json',
    ),
  );
});
