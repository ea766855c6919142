import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Container } from './container.ts';
import { makeDisk } from './disk.ts';
import { until } from './holder.ts';
import { LoopDevice } from './loop-device.ts';
import type { NodeDirectories } from './node-directories.ts';

/** Where virt-launcher has the hotplugged disks. */
export const hotplugDirectory = '/run/kubevirt/hotplug-disks';

const volumeSize = 4 * 1024 * 1024;

/** What is hotplugged: its fields in the VMI, where the launcher pod sees it, and what it holds. */
export interface Hotplugged {
  readonly name: string;
  readonly volume: object;
  readonly status: object;
  readonly path: string;
  readonly sum: string;
}

/** An attachment pod with a container disk, a volume with a file system and a block device. */
export async function attachmentPod(
  node: NodeDirectories,
  binaries: string,
  cleanup: AsyncDisposableStack,
): Promise<Hotplugged[]> {
  const pod = node.pod();
  const run = async (image: string, name: string, emptyDir: string, volumes: readonly string[]) => {
    const container = new Container({
      image,
      scratch: node.scratch(),
      argv: ['/usr/bin/container-disk', '--copy-path', `/path/${name}`],
      mounts: [
        { source: binaries, destination: '/usr/bin' },
        { source: emptyDir, destination: '/path' },
        ...volumes.map((volume) => ({
          source: join(node.root, 'volumes', volume),
          destination: `/${volume}`,
        })),
      ],
    });
    cleanup.use(container);
    await until(() => existsSync(join(emptyDir, `${name}.sock`)) || container.ended);
  };
  const status = (name: string, volumeMode?: string) => ({
    name,
    hotplugVolume: { attachPodUID: pod.uid },
    ...(volumeMode ? { persistentVolumeClaimInfo: { volumeMode } } : {}),
  });
  const claim = (name: string) => ({
    name,
    persistentVolumeClaim: { claimName: name, hotpluggable: true },
  });

  const image = node.image('hotplugged');
  const diskSum = await makeDisk(image);
  await run(image, 'hotplug-container-disk-extra', pod.emptyDir('hotplug-container-disks'), []);

  const content = randomBytes(volumeSize);
  mkdirSync(join(node.root, 'volumes/data'), { recursive: true });
  writeFileSync(join(node.root, 'volumes/data/disk.img'), content);
  await run(node.image('attachment'), 'hp', pod.emptyDir('hotplug-disks'), ['data']);

  const blocks = randomBytes(volumeSize);
  writeFileSync(join(node.root, 'volumes/block.raw'), blocks);
  const loop = cleanup.use(new LoopDevice(join(node.root, 'volumes/block.raw')));
  mkdirSync(join(pod.emptyDir('hotplug-disks'), 'block'));
  loop.makeNode(join(pod.emptyDir('hotplug-disks'), 'block/device'));
  execFileSync('mknod', [
    '-m',
    '666',
    join(node.root, 'block-node'),
    'b',
    String(loop.major),
    String(loop.minor),
  ]);

  const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  return [
    {
      name: 'the container disk',
      volume: {
        name: 'extra',
        containerDisk: { image: 'registry.example/extra', hotpluggable: true },
      },
      status: status('extra'),
      path: `${hotplugDirectory}/extra.img`,
      sum: diskSum,
    },
    {
      name: 'the volume with a file system',
      volume: claim('data'),
      status: status('data', 'Filesystem'),
      path: `${hotplugDirectory}/data.img`,
      sum: sum(content),
    },
    {
      name: `the block device ${loop.number}`,
      volume: claim('block'),
      status: status('block', 'Block'),
      path: `${hotplugDirectory}/block`,
      sum: sum(blocks),
    },
  ];
}
