import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IPod } from 'kubernetes-models/v1';
import t, { type Test } from 'tap';
import { LoopDevice } from '../../scripts/demo/loop-device.ts';
import { hasDeviceCgroups } from '../../scripts/demo/pod-cgroup.ts';
import { qcow2Image } from '../mounter/disk/qcow2-image.ts';
import { podCgroup } from '../support/device-programs.ts';
import { TestNode } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { example } from './example.ts';
import { ExamplePod, programImage } from './example-pod.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'losetup', 'qemu');
const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');
const vmi = join(import.meta.dirname, '../../docs/examples/virtual-machine-instance.yaml');
const launcherUid = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed';
const attachmentUid = '9c858901-8a57-4791-81fe-4c455b099bc9';

/** A claim for a block device: the runtime makes its node where `volumeDevices` says. */
function blockDevice(t: Test, node: TestNode, pod: ExamplePod): void {
  const file = join(node.directories.root, 'scratch.raw');
  writeFileSync(file, Buffer.alloc(1024 * 1024, 1));
  const loop = new LoopDevice(file);
  t.teardown(() => loop[Symbol.dispose]());
  const [container] = (example('attachment-pod.yaml') as IPod).spec?.containers ?? [];
  const path = container?.volumeDevices?.[0]?.devicePath ?? '';
  const mount = container?.volumeMounts?.find((each) => path.startsWith(`${each.mountPath}/`));
  if (mount === undefined) throw new Error(`no emptyDir is mounted above ${path}`);
  const device = join(pod.directories.emptyDir(mount.name), path.slice(mount.mountPath.length));
  mkdirSync(join(device, '..'), { recursive: true });
  loop.makeNode(device);
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let attempt = 0; !condition(); attempt += 1) {
    if (attempt === 1500) throw new Error(`${what} did not happen`);
    await sleep(20);
  }
}

/** Whether a process has a file open, by whatever name. */
function hasOpen(pid: number, path: string): boolean {
  const { dev, ino } = statSync(path);
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    const opened = statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false });
    return opened?.ino === ino && opened.dev === dev;
  });
}

t.test('a virtual machine by the examples', { skip }, async (t) => {
  const node = new TestNode(t);
  node.directories.shareMounts();
  const binary = programImage(node.directories);
  const disk = qcow2Image();
  const images = {
    'registry.example/container-disk': binary,
    'registry.example/fedora-disk': node.image('fedora', { 'disk/fedora.qcow2': disk }),
    'registry.example/tools-disk': node.image('tools', {
      'disk/tools.img': 'tools'.repeat(500),
      'disk/readme.img': 'readme'.repeat(500),
    }),
    'registry.example/extra-disk': node.image('extra', { 'disk/extra.img': 'e'.repeat(4096) }),
    'registry.example/fedora-kernel': node.image('kernel', {
      'boot/vmlinuz': 'kernel',
      'boot/initrd.img': 'initrd',
    }),
    'registry.example/qemu': '/',
  };
  const version = hasDeviceCgroups('v2') ? 'v2' : 'v1';
  const cgroup = podCgroup(t, version, launcherUid);
  const launcher = new ExamplePod(t, node.directories, example('launcher-pod.yaml'), {
    uid: launcherUid,
    images,
    prefixes: { compute: cgroup.command },
  });
  const data = join(node.directories.root, 'data');
  mkdirSync(data);
  writeFileSync(join(data, 'disk.img'), Buffer.alloc(4096, 2));
  const attachment = new ExamplePod(t, node.directories, example('attachment-pod.yaml'), {
    uid: attachmentUid,
    images,
    claims: { data },
  });
  blockDevice(t, node, attachment);
  const [containers] = await Promise.all([launcher.start(), attachment.start()]);

  const run = (...argv: string[]) =>
    spawnSync(process.execPath, [command, ...node.arguments, ...argv], { encoding: 'utf8' });
  t.match(run('ready', '-f', vmi), { status: 0, stderr: '' });
  // A block device needs the cgroup of QEMU, which waits for its disk.
  const first = run('mount', '-f', vmi);
  t.match(
    first.stderr,
    /^container-disk-mounter: error: scratch: no socket .*launcher-sock yet\n$/,
  );

  const disks = launcher.directories.emptyDir('container-disks');
  const hotplugged = launcher.directories.emptyDir('hotplug-disks');
  t.ok(readFileSync(join(disks, 'disk_0.img')).equals(disk));
  t.match(readFileSync(join(disks, 'disk_2.img'), 'utf8'), /^(tools)+$/);
  t.strictSame(readdirSync(join(disks, 'kernel-boot')).sort(), ['initrd.img', 'vmlinuz']);

  const compute = containers.get('compute');
  const socket = join(launcher.directories.emptyDir('sockets'), 'launcher-sock');
  await until(() => existsSync(socket) || compute?.ended === true, 'the start of QEMU');
  t.equal(compute?.ended, false, `${compute?.stderr}`);
  const root = join(disks, 'disk_0.img');
  await until(() => hasOpen(compute?.pid ?? 0, root), 'the opening of the disk by QEMU');

  t.match(run('mount', '-f', vmi), { status: 0, stderr: '' });
  t.strictSame(readdirSync(hotplugged).sort(), ['data.img', 'extra.img', 'scratch']);
  const listed = run('list').stdout;
  t.match(listed, /scratch .*in force/);
  t.match(run('unmount', '-f', vmi, '--all'), { status: 0, stderr: '' });
  t.strictSame(readdirSync(hotplugged), []);
});
