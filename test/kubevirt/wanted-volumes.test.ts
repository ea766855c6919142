import t from 'tap';
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import { type WantedOptions, wantedVolumes } from '../../src/kubevirt/wanted-volumes.ts';
import { vmi } from './manifests.ts';

function wanted(parts: { spec?: unknown; status?: unknown }, options?: WantedOptions) {
  const [instance] = readVirtualMachineInstances(JSON.stringify(vmi(parts)), 'vm.json');
  if (instance === undefined) throw new Error('nothing was read');
  return wantedVolumes(instance, options);
}

const pvc = (name: string, rest = {}) => ({
  name,
  persistentVolumeClaim: { claimName: name, ...rest },
});
const attached = (name: string, attachPodUID: string, rest = {}) => ({
  name,
  target: '',
  hotplugVolume: { attachPodUID },
  ...rest,
});
const block = { persistentVolumeClaimInfo: { volumeMode: 'Block' } };
const hotplugVolume = (name: string, rest = {}) => ({
  kind: 'hotplugVolume',
  name,
  attachPodUID: undefined,
  volumeMode: 'Filesystem',
  directory: false,
  ...rest,
});

t.test('container disks and kernel boot', async (t) => {
  t.strictSame(
    wanted({
      spec: {
        volumes: [
          { name: 'init', cloudInitNoCloud: {} },
          { name: 'root', containerDisk: { image: 'i' } },
          pvc('plain'),
          { name: 'more', containerDisk: { image: 'i', path: '/x.img' } },
        ],
        domain: { firmware: { kernelBoot: { container: { kernelPath: '/k', initrdPath: '/i' } } } },
      },
      status: {
        volumeStatus: [{ name: 'more', containerDiskVolume: { checksum: 9 } }],
        kernelBootStatus: { kernelInfo: { checksum: 1 }, initrdInfo: { checksum: 2 } },
      },
    }),
    [
      { kind: 'containerDisk', name: 'root', index: 1, path: undefined, checksum: undefined },
      { kind: 'containerDisk', name: 'more', index: 3, path: '/x.img', checksum: 9 },
      {
        kind: 'kernelBoot',
        kernelPath: '/k',
        initrdPath: '/i',
        kernelChecksum: 1,
        initrdChecksum: 2,
      },
    ],
    'index counts every volume; a claim without hotplug is the kubelet’s',
  );
});

t.test('hotplugged volumes', async (t) => {
  t.strictSame(
    wanted({
      spec: {
        volumes: [
          { name: 'cd', containerDisk: { image: 'i', path: '/d', hotpluggable: true } },
          pvc('waits', { hotpluggable: true }),
          pvc('old'),
          { name: 'dv', dataVolume: { name: 'dv', hotpluggable: true } },
          { name: 'dump', memoryDump: { claimName: 'c', hotpluggable: true } },
        ],
        utilityVolumes: [{ name: 'util' }],
      },
      status: {
        volumeStatus: [
          attached('cd', 'p-1', { containerDiskVolume: { checksum: 5 } }),
          attached('old', 'p-2'),
          attached('dv', 'p-3', block),
          attached('dump', 'p-4', { memoryDumpVolume: {} }),
          attached('util', 'p-5'),
          attached('removed', 'p-6', block),
        ],
      },
    }),
    [
      { kind: 'hotplugContainerDisk', name: 'cd', attachPodUID: 'p-1', path: '/d', checksum: 5 },
      hotplugVolume('waits'),
      hotplugVolume('old', { attachPodUID: 'p-2' }),
      hotplugVolume('dv', { attachPodUID: 'p-3', volumeMode: 'Block' }),
      hotplugVolume('dump', { attachPodUID: 'p-4', directory: true }),
      hotplugVolume('util', { attachPodUID: 'p-5', directory: true }),
    ],
    'what only status still has is not wanted',
  );
});

t.test('a memory dump into a block device is not a directory', async (t) => {
  t.strictSame(
    wanted({
      spec: { volumes: [pvc('d', { hotpluggable: true })] },
      status: { volumeStatus: [attached('d', 'p', { ...block, memoryDumpVolume: {} })] },
    }),
    [hotplugVolume('d', { attachPodUID: 'p', volumeMode: 'Block' })],
  );
});

t.test('a memory dump by its source alone, or by status alone', async (t) => {
  t.strictSame(
    wanted({
      spec: { volumes: [{ name: 'a', memoryDump: { hotpluggable: true } }, pvc('b')] },
      status: { volumeStatus: [attached('b', 'p', { memoryDumpVolume: {} })] },
    }),
    [
      hotplugVolume('a', { directory: true }),
      hotplugVolume('b', { attachPodUID: 'p', directory: true }),
    ],
  );
});

t.test('another attachment pod on request', async (t) => {
  const spec = {
    volumes: [
      pvc('d', { hotpluggable: true }),
      { name: 'cd', containerDisk: { hotpluggable: true } },
    ],
  };
  const status = { volumeStatus: [attached('d', 'p'), attached('cd', 'p')] };
  for (const volume of wanted({ spec, status }, { attachPodUID: 'other' })) {
    t.match(volume, { attachPodUID: 'other' });
  }
});

t.test('a migration', async (t) => {
  const spec = {
    volumes: [
      pvc('d', { hotpluggable: true }),
      { name: 'cd', containerDisk: { image: 'i', hotpluggable: true } },
    ],
    utilityVolumes: [{ name: 'util' }],
  };
  const status = (migrationState?: object) => ({
    volumeStatus: [attached('d', 'source-pod', block), attached('cd', 'source-pod')],
    migratedVolumes: [
      {
        volumeName: 'd',
        sourcePVCInfo: { volumeMode: 'Block' },
        destinationPVCInfo: { volumeMode: 'Filesystem' },
      },
    ],
    migrationState,
  });
  const source = [
    hotplugVolume('d', { attachPodUID: 'source-pod', volumeMode: 'Block' }),
    {
      kind: 'hotplugContainerDisk',
      name: 'cd',
      attachPodUID: 'source-pod',
      path: undefined,
      checksum: undefined,
    },
    hotplugVolume('util', { directory: true }),
  ];
  const target = (attachPodUID?: string) => [
    hotplugVolume('d', { attachPodUID, volumeMode: 'Filesystem' }),
    {
      kind: 'hotplugContainerDisk',
      name: 'cd',
      attachPodUID,
      path: undefined,
      checksum: undefined,
    },
  ];
  const under = { targetNode: 'two', targetAttachmentPodUID: 'target-pod' };
  t.strictSame(wanted({ spec, status: status() }), source, 'before it');
  t.strictSame(wanted({ spec, status: status(under) }, { node: 'one' }), source, 'on the source');
  t.strictSame(
    wanted({ spec, status: status(under) }, { node: 'two' }),
    target('target-pod'),
    'on the target',
  );
  t.strictSame(
    wanted({ spec, status: status({ targetNode: 'two' }) }, { node: 'two' }),
    target(),
    'on the target, whose attachment pod is not known yet: not the one of the source',
  );
  t.strictSame(
    wanted({ spec, status: status(under) }),
    target('target-pod'),
    'on a node of unknown name',
  );
  t.strictSame(
    wanted({ spec, status: status({ ...under, completed: true }) }, { node: 'two' }),
    source,
    'after it status has the truth',
  );
});
