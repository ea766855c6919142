import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ContainerMount, qemu } from '../../../scripts/demo/container.ts';
import { LoopDevice } from '../../../scripts/demo/loop-device.ts';
import type { PodDirectories } from '../../../scripts/demo/node-directories.ts';
import { VirtLauncher } from '../../../scripts/demo/virt-launcher.ts';
import { findCloudKernel } from '../../support/cloud-kernel.ts';
import { manifest, TestNode } from '../../support/launcher.ts';
import { initramfs } from './guest/initramfs.ts';
import { containerDisks, ephemeralDisks, hotplugDisks, runtime } from './paths.ts';
import { mebibyte } from './printed.ts';

const bootPaths = { kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd' };

/**
 * The pods of a virtual machine as the kubelet and the runtime make them. The launcher pod has a container disk and
 * a kernel to boot; the attachment pod has what is hotplugged later, a container disk and a block volume.
 */
export async function podsOfAMachine(cleanup: AsyncDisposableStack) {
  const node = new TestNode({ teardown: (end) => cleanup.defer(async () => void (await end())) });
  node.directories.shareMounts();
  const [pod, attachment] = [node.pod(), node.pod()];

  const root = randomBytes(4 * mebibyte);
  await launcherImages(node, pod.emptyDir('container-disks'), root);

  const extra = randomBytes(2 * mebibyte);
  const socketName = 'hotplug-container-disk-extra';
  const image = node.image('extra', { 'disk/disk.img': extra });
  // Everybody may write to the file, so that only its mount refuses.
  chmodSync(join(image, 'disk/disk.img'), 0o666);
  await node.sidecar(image, attachment.emptyDir('hotplug-container-disks'), [socketName]);

  const data = randomBytes(3 * mebibyte);
  const dataFile = join(node.directories.root, 'data.raw');
  writeFileSync(dataFile, data);
  const device = cleanup.use(new LoopDevice(dataFile));
  mkdirSync(join(attachment.emptyDir('hotplug-disks'), 'data'));
  device.makeNode(join(attachment.emptyDir('hotplug-disks'), 'data/device'));

  // The last, and so the first that ends: with it everything that runs in the pod.
  const launcher = cleanup.use(await VirtLauncher.start(node.directories, pod, mounts(node, pod)));
  const vmi = vmiOf(node.uid(), pod.uid, attachment.uid);
  return { node, pod, launcher, root, extra, data, dataFile, device, vmi };
}

export type Pods = Awaited<ReturnType<typeof podsOfAMachine>>;

/** The images of the container disk (qcow2) and of the kernel, each with its sidecar. */
async function launcherImages(node: TestNode, emptyDir: string, root: Buffer): Promise<void> {
  const scratch = node.directories.scratch();
  mkdirSync(scratch, { recursive: true });
  const [raw, qcow2] = [join(scratch, 'root.raw'), join(scratch, 'root.qcow2')];
  writeFileSync(raw, root);
  execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, qcow2]);
  const disk = node.image('root', { 'disk/root.qcow2': readFileSync(qcow2) });
  await node.sidecar(disk, emptyDir, ['disk_0']);

  const kernel = findCloudKernel() ?? noKernel();
  const boot = node.image('kernel', {
    [bootPaths.kernelPath]: readFileSync(kernel.path),
    [bootPaths.initrdPath]: initramfs(kernel, scratch),
  });
  await node.sidecar(boot, emptyDir, ['kernel-boot']);
}

/** What of virt-launcher's container is not its image's. */
function mounts({ directories }: TestNode, pod: PodDirectories): ContainerMount[] {
  // libvirt wants to know its user, as it does in virt-launcher's image.
  const passwd = join(directories.root, 'passwd');
  writeFileSync(passwd, `root:x:0:0::/root:/bin/sh\nqemu:x:${qemu}:${qemu}::${runtime}:/bin/sh\n`);
  return [
    { source: pod.emptyDir('container-disks'), destination: containerDisks },
    { source: pod.emptyDir('hotplug-disks'), destination: hotplugDisks },
    { source: pod.emptyDir('ephemeral-disks'), destination: ephemeralDisks },
    { source: pod.emptyDir('libvirt-runtime'), destination: runtime },
    { source: passwd, destination: '/etc/passwd' },
    { source: '/sys', destination: '/sys' },
  ];
}

/** The VirtualMachineInstance, without and with what is hotplugged. */
function vmiOf(uid: string, pod: string, attachment: string) {
  const container = { image: 'registry.example/kernel', ...bootPaths };
  const volumes = [{ name: 'root', containerDisk: { image: 'registry.example/root' } }];
  const hotplugged = [
    { name: 'extra', containerDisk: { image: 'registry.example/extra', hotpluggable: true } },
    { name: 'data', persistentVolumeClaim: { claimName: 'data', hotpluggable: true } },
  ];
  const hotplugVolume = { attachPodUID: attachment };
  const volumeStatus = [
    { name: 'extra', hotplugVolume },
    { name: 'data', hotplugVolume, persistentVolumeClaimInfo: { volumeMode: 'Block' } },
  ];
  const fields = {
    uid,
    pods: [pod],
    spec: { domain: { firmware: { kernelBoot: { container } } } },
  };
  return {
    plain: manifest({ ...fields, volumes }),
    hotplugged: manifest({
      ...fields,
      volumes: [...volumes, ...hotplugged],
      status: { volumeStatus },
    }),
  };
}

function noKernel(): never {
  throw new Error('no kernel was found');
}
