import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { qemu } from '../../scripts/demo/container.ts';
import { LoopDevice } from '../../scripts/demo/loop-device.ts';
import type { CgroupVersion } from '../../scripts/demo/pod-cgroup.ts';
import { denyDevices } from '../../scripts/demo/virt-launcher.ts';
import type { Listing } from '../../src/mounter/list.ts';
import { podCgroup } from '../support/device-programs.ts';
import { manifest, TestNode, vmi } from '../support/launcher.ts';

const program = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

const listen = `
  use Socket;
  chdir $ARGV[0] or die "chdir: $!";
  socket(my $listener, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
  bind($listener, pack_sockaddr_un('launcher-sock')) or die "bind: $!";
  listen($listener, 64) or die "listen: $!";
  sleep 600;
`;

/** A command of the mounter: how things stand before it, and whether it did what it is for. */
export interface Command {
  readonly argv: readonly string[];
  readonly before: () => Promise<unknown>;
  readonly isDone: (stdout: string) => boolean;
}

/** A node with everything that the commands work on, and the commands by the names that the documentation has. */
export async function commands(t: Test, version: CgroupVersion): Promise<Record<string, Command>> {
  const node = new TestNode(t);
  const [launcher, attachment, gone] = [node.pod(), node.pod(), node.pod()];
  const disks = launcher.emptyDir('container-disks');
  const hotplugged = launcher.emptyDir('hotplug-disks');
  const image = node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) });
  chownSync(join(image, 'disk/disk.img'), qemu, qemu);
  chmodSync(join(image, 'disk/disk.img'), 0o440);
  await node.sidecar(image, disks, ['disk_0']);
  const goneDisks = gone.emptyDir('container-disks');

  const persistent = join(node.directories.root, 'persistent');
  mkdirSync(persistent);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'persistent', persistent]);
  t.teardown(() => execFileSync('umount', ['-l', persistent]));
  writeFileSync(join(persistent, 'disk.img'), 'data'.repeat(1000), { mode: 0o600 });
  const volumes = attachment.emptyDir('hotplug-disks');
  const holder = node.image('attachment', { 'etc/.empty': '' });
  await node.sidecar(holder, volumes, ['hp'], [{ source: persistent, destination: '/data' }]);
  const device = loopDevice(t, node);
  mkdirSync(join(volumes, 'block'));
  device.makeNode(join(volumes, 'block/device'));
  const rules = await virtLauncher(t, version, launcher.uid, launcher.emptyDir('sockets'));

  const hotplug = (name: string, volumeMode: string) => ({
    uid: node.uid(),
    pods: [launcher.uid],
    volumes: [{ name, persistentVolumeClaim: { claimName: name, hotpluggable: true } }],
    status: {
      volumeStatus: [
        {
          name,
          hotplugVolume: { attachPodUID: attachment.uid },
          persistentVolumeClaimInfo: { volumeMode },
        },
      ],
    },
  });
  const files = {
    disk: { uid: node.uid(), pods: [launcher.uid] },
    data: hotplug('data', 'Filesystem'),
    block: hotplug('block', 'Block'),
    gone: { uid: node.uid(), pods: [gone.uid] },
  };
  const mounter = node.mounter();
  const file = (name: keyof typeof files) => {
    const path = join(node.directories.root, `${name}.json`);
    writeFileSync(path, JSON.stringify(manifest(files[name])));
    return ['-f', path];
  };
  const unmounted = (name: keyof typeof files) => async () => {
    await mounter.unmount(vmi(files[name]), { all: true });
    chownSync(join(persistent, 'disk.img'), 0, 0);
  };
  const mounted = (name: keyof typeof files) => () => mounter.mount(vmi(files[name]));
  const isMounted = (path: string) => node.mounts().includes(path);
  const [disk, data, block] = [
    join(disks, 'disk_0.img'),
    join(hotplugged, 'data.img'),
    join(hotplugged, 'block'),
  ];
  const command = (
    argv: readonly string[],
    before: Command['before'],
    isDone: Command['isDone'],
  ): Command => ({ argv: [...node.arguments, '-o', 'json', ...argv], before, isDone });
  const denied = rules();
  const collectable = async () => {
    rmSync(join(goneDisks, 'disk_0.sock'), { force: true });
    const sidecar = await node.sidecar(image, goneDisks, ['disk_0']);
    await mounter.mount(vmi(files.gone));
    sidecar.kill('SIGKILL');
    await sidecar.exit;
  };
  const onlyDisk = async () => {
    await mounter.unmount(vmi(files.block), { all: true });
    await mounter.mount(vmi(files.disk));
  };
  const everything = async () => {
    await mounter.mount(vmi(files.disk));
    await mounter.mount(vmi(files.block));
  };
  return {
    ready: command(['ready', '--timeout', '0s', ...file('disk')], unmounted('disk'), () => true),
    list: command(['list'], onlyDisk, isListed),
    'list, with a block device': command(['list'], everything, isListedWithDevice),
    inspect: command(['inspect', join(disks, 'disk_0.sock')], mounted('disk'), () => true),
    verify: command(['verify', ...file('disk')], unmounted('disk'), () => true),
    mount: command(['mount', ...file('disk')], unmounted('disk'), () => isMounted(disk)),
    'mount, a hotplugged file system': command(['mount', ...file('data')], unmounted('data'), () =>
      isMounted(data),
    ),
    'mount, a hotplugged block device': command(
      ['mount', ...file('block')],
      unmounted('block'),
      () => existsSync(block) && lstatSync(block).uid === qemu && rules() !== denied,
    ),
    unmount: command(
      ['unmount', '--all', ...file('disk')],
      mounted('disk'),
      () => !existsSync(disk),
    ),
    'unmount, a hotplugged block device': command(
      ['unmount', '--all', ...file('block')],
      mounted('block'),
      () => !existsSync(block) && rules() === denied,
    ),
    gc: command(['gc'], collectable, () => !isMounted(join(goneDisks, 'disk_0.img'))),
  };
}

/** Whether the socket of the disk leads to it. */
function isListed(stdout: string): boolean {
  const { sockets }: Listing = JSON.parse(stdout);
  return sockets.some(({ disk }) => disk);
}

/** And the rule of the block device could be looked at. */
function isListedWithDevice(stdout: string): boolean {
  const { hotplugged }: Listing = JSON.parse(stdout);
  return isListed(stdout) && hotplugged.some(({ rule }) => rule === 'in force');
}

/** Runs a command as root with some capabilities and no others. @returns what it printed, where it did its work */
export async function runWith(
  { argv, before, isDone }: Command,
  capabilities: readonly string[],
): Promise<string | undefined> {
  await before();
  const set = ['-all', ...capabilities.map((name) => `+${name.replace('CAP_', '').toLowerCase()}`)];
  const { status, stdout } = spawnSync(
    'setpriv',
    [`--bounding-set=${set.join(',')}`, '--inh-caps=-all', process.execPath, program, ...argv],
    { encoding: 'utf8' },
  );
  return status === 0 && isDone(stdout) ? stdout : undefined;
}

function loopDevice(t: Test, node: TestNode): LoopDevice {
  const file = join(node.directories.root, 'block.raw');
  writeFileSync(file, 'block'.repeat(65_536));
  const device = new LoopDevice(file);
  t.teardown(() => device[Symbol.dispose]());
  return device;
}

/** @returns what reads the device rules of the pod */
async function virtLauncher(
  t: Test,
  version: CgroupVersion,
  pod: string,
  sockets: string,
): Promise<() => string> {
  const cgroup = podCgroup(t, version, pod);
  const [command = '', ...rest] = cgroup.command;
  const asQemu = ['setpriv', `--reuid=${qemu}`, `--regid=${qemu}`, '--clear-groups'];
  const argv = [...rest, ...asQemu, 'perl', '-e', listen, sockets];
  const child = spawn(command, argv, { stdio: 'inherit' });
  t.teardown(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  while (!existsSync(join(sockets, 'launcher-sock'))) await sleep(5);
  return denyDevices(cgroup, version);
}
