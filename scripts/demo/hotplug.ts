import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { attachmentPod, hotplugDirectory } from './attachment-pod.ts';
import { qemu } from './container.ts';
import type { LauncherPod } from './holder.ts';
import { type MounterCommand, vmiOf } from './mounter.ts';
import type { NodeDirectories } from './node-directories.ts';
import type { Report } from './report.ts';
import { VirtLauncher } from './virt-launcher.ts';

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
