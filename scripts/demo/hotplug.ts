import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Container, qemu } from './container.ts';
import { makeDisk } from './disk.ts';
import { type LauncherPod, until } from './holder.ts';
import { LoopDevice } from './loop-device.ts';
import { type MounterCommand, vmiOf } from './mounter.ts';
import type { NodeDirectories } from './node-directories.ts';
import type { Report } from './report.ts';
import { VirtLauncher } from './virt-launcher.ts';

/** Where virt-launcher has the hotplugged disks. */
const hotplugDirectory = '/run/kubevirt/hotplug-disks';

const volumeSize = 4 * 1024 * 1024;

/** What is hotplugged: its fields in the VMI, where the launcher pod sees it, and what it holds. */
interface Hotplugged {
  readonly name: string;
  readonly volume: object;
  readonly status: object;
  readonly path: string;
  readonly sum: string;
}

/** A container disk, a volume with a file system and a block device into the running pod, and out again. */
export async function hotplug(
  node: NodeDirectories,
  launcher: LauncherPod,
  binaries: string,
  mounter: MounterCommand,
  cleanup: AsyncDisposableStack,
  report: Report,
): Promise<void> {
  const virtLauncher = cleanup.use(
    await VirtLauncher.start(node, launcher.pod, [
      { source: launcher.pod.emptyDir('hotplug-disks'), destination: hotplugDirectory },
    ]),
  );
  const before = virtLauncher.rules();
  const volumes = await attachmentPod(node, binaries, cleanup);
  report.step('an attachment pod with a container disk, a file system and a loop device');

  mounter.write(vmiOf(launcher, volumes));
  const mount = mounter.run('mount');
  report.check(
    'container-disk-mounter mount',
    mount.status === 0,
    `exit ${mount.status} ${mount.stderr}`.trim(),
  );
  report.text(mounter.run('list').stdout.split('\n\n')[1] ?? '');
  for (const { name, path, sum } of volumes) {
    const read = readAsQemu(virtLauncher, path);
    report.check(
      `${name}, read by uid ${qemu} in the pod's cgroup and namespace`,
      read === sum,
      read.slice(0, 40),
    );
  }

  mounter.write(vmiOf(launcher));
  const unmount = mounter.run('unmount');
  report.check(
    'container-disk-mounter unmount',
    unmount.status === 0,
    `exit ${unmount.status} ${unmount.stderr}`.trim(),
  );
  for (const { name, path } of volumes) {
    const read = readAsQemu(virtLauncher, path);
    report.check(`${name} is gone from the pod`, /No such file/.test(read), read.trim());
  }
  const device = readDeviceAsQemu(virtLauncher, node);
  report.check(
    'a node of the device does not open any more',
    /Operation not permitted/.test(device),
    device.trim(),
  );
  const isSame = virtLauncher.rules() === before;
  report.check(
    'the rules of the device cgroup are what they were',
    isSame,
    isSame ? '' : virtLauncher.rules(),
  );
}

async function attachmentPod(
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

/** SHA-256 of a file or device as a process of the pod reads it, or what it says instead. */
function readAsQemu(virtLauncher: VirtLauncher, path: string): string {
  const [command, ...rest] = virtLauncher.asQemu('sha256sum', path);
  const { stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8' });
  return stdout.split(' ')[0] || stderr;
}

/** The device by another node than the one that was taken out. */
function readDeviceAsQemu({ cgroup }: VirtLauncher, node: NodeDirectories): string {
  return cgroup.open(join(node.root, 'block-node'));
}
