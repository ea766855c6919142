/**
 * One race, in a mount namespace of its own, which `races.test.ts` starts it in: every mount of it is the race's.
 * Its arguments are how often to mount and unmount, and a seed.
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../../scripts/demo/holder.ts';
import { LoopDevice } from '../../scripts/demo/loop-device.ts';
import { hasDeviceCgroups, PodCgroup } from '../../scripts/demo/pod-cgroup.ts';
import { openFiles } from '../../scripts/soak/open-files.ts';
import { readMountinfo } from '../../src/kernel/mountinfo.ts';
import { isSameNamespace } from '../../src/kernel/namespace.ts';
import { DiskRefusedError } from '../../src/mounter/disk/disk-refused-error.ts';
import { MounterError } from '../../src/mounter/mounter-error.ts';
import type { MountReport } from '../../src/mounter/prepared.ts';
import type { UnmountReport } from '../../src/mounter/unmount-virtual-machine.ts';
import { TestNode, vmi } from '../support/launcher.ts';
import { Attacker, asTenant, compile, hostileImage } from './attackers.ts';
import { Canaries } from './canaries.ts';

const [rounds = 300, seed = Date.now() % 100_000] = process.argv.slice(2).map(Number);

t.setTimeout(3_600_000);

/** Mounts of other tests, of which this namespace has copies, go when those remove the places under them. */
function leaveOthersBehind(): void {
  if (isSameNamespace('/proc/self/ns/mnt', `/proc/${process.ppid}/ns/mnt`)) {
    throw new Error('a race needs a mount namespace of its own: unshare --mount');
  }
  const points = readMountinfo('/proc/self').map(({ mountPoint }) => mountPoint);
  for (const point of points.filter((each) => each.startsWith(`${tmpdir()}/`)).reverse()) {
    execFileSync('umount', ['-l', point]);
  }
}

leaveOthersBehind();

/** What became of the volumes, by volume and outcome. */
class Tally {
  readonly #counts = new Map<string, number>();
  /** Failures that no class of the mounter explains. */
  readonly unexplained: string[] = [];

  add(what: string, report: MountReport | UnmountReport): void {
    const { outcome, error } = { error: undefined, ...report };
    const code = error === undefined ? '' : ` ${'code' in error ? error.code : error.name}`;
    const line = `${what} ${outcome}${code}`;
    this.#counts.set(line, this.count(line) + 1);
    const isExplained = error instanceof MounterError || error instanceof DiskRefusedError;
    if (error && !isExplained) this.unexplained.push(`${line}: ${error.message}`);
  }

  get text(): string {
    const lines = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1));
    return lines.map(([line, count]) => `${line}: ${count}`).join('\n');
  }

  count(line: string): number {
    return this.#counts.get(line) ?? 0;
  }
}

/** A launcher pod and its attachment pod, with honest and hostile images, and a block device. */
async function victims(t: Test) {
  const node = new TestNode(t);
  const canaries = await Canaries.make(t, join(node.directories.root, 'canary'));
  const binaries = join(node.directories.root, 'attackers');
  mkdirSync(binaries);
  const [launcher, attachment] = [node.pod(), node.pod()];
  const disks = launcher.emptyDir('container-disks');
  const hotplugged = launcher.emptyDir('hotplug-disks');
  const files = { 'disk/disk.img': 'disk'.repeat(1024), vmlinuz: 'kernel', initrd: 'initrd' };
  const image = node.image('disk', files);
  await node.sidecar(image, disks, ['disk_0', 'kernel-boot']);
  const sources = attachment.emptyDir('hotplug-container-disks');
  await node.sidecar(image, sources, ['hotplug-container-disk-extra']);
  return { node, canaries, binaries, launcher, attachment, disks, hotplugged };
}

t.test(`${rounds} mounts and unmounts, seed ${seed}`, async (t) => {
  const { node, canaries, binaries, launcher, attachment, disks, hotplugged } = await victims(t);
  const volume = blockVolume(t, node, launcher.uid, attachment.emptyDir('hotplug-disks'));
  await volume.virtLauncher(launcher.emptyDir('sockets'));

  const program = compile(binaries, 'hostile-image');
  const canary = join(canaries.directory, 'file');
  const hostile = [];
  for (const [index, mode] of (['files', 'mounts'] as const).entries()) {
    const socket = `disk_${index + 1}.sock`;
    const about = { program, emptyDir: disks, socket, mode, seed: seed + index, canary };
    const directory = join(node.directories.root, 'hostile', mode);
    hostile.push(await hostileImage(t, directory, about));
  }

  const instance = vmi({
    uid: node.uid(),
    pods: [launcher.uid],
    volumes: [
      ...[0, 1, 2].map((index) => ({ name: `disk-${index}`, containerDisk: {} })),
      { name: 'extra', containerDisk: { hotpluggable: true } },
      { name: 'block', persistentVolumeClaim: { claimName: 'block', hotpluggable: true } },
    ],
    spec: {
      domain: {
        firmware: {
          kernelBoot: { container: { kernelPath: '/vmlinuz', initrdPath: '/initrd' } },
        },
      },
    },
    status: {
      volumeStatus: [
        { name: 'extra', hotplugVolume: { attachPodUID: attachment.uid } },
        {
          name: 'block',
          hotplugVolume: { attachPodUID: attachment.uid },
          persistentVolumeClaimInfo: { volumeMode: 'Block' },
        },
      ],
    },
  });
  const mounter = node.mounter();
  // The first of each starts its threads.
  const first = await mounter.mount(instance);
  t.match(
    first.find(({ volume }) => volume === 'disk-0'),
    { outcome: 'mounted' },
  );
  await mounter.unmount(instance, { all: true });

  const watcher = new Attacker(t, [compile(binaries, 'watch-mounts'), disks, hotplugged], '/');
  const swap = compile(binaries, 'swap-places');
  const swapper = (cwd: string, offset: number, places: readonly string[]) =>
    new Attacker(t, [...asTenant, swap, String(seed + offset), canaries.directory, ...places], cwd);
  const kernelBoot = ['kernel-boot', 'kernel-boot/vmlinuz', 'kernel-boot/initrd'];
  const places = ['disk_0.img', 'disk_1.img', 'disk_2.img', ...kernelBoot, 'disk_2.sock'];
  const swappers = [swapper(disks, 10, places), swapper(hotplugged, 11, ['extra.img', 'block'])];

  const before = openFiles();
  const tally = new Tally();
  const exposed: string[] = [];
  const look = (path: string) => {
    if (showsCanary(path, canaries)) exposed.push(path);
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const report of await mounter.mount(instance)) {
      tally.add(`mount ${report.volume}`, report);
      if (report.outcome !== 'failed') look(report.target);
    }
    for (const point of node.mounts()) {
      if (point.startsWith(disks) || point.startsWith(hotplugged)) look(point);
    }
    for (const report of await mounter.unmount(instance, { all: true })) {
      tally.add('unmount', report);
    }
  }

  // A thread that another was faster than lets go of its images' roots when it has done; a leak never does.
  await until(() => openFiles().join() === before.join());
  t.strictSame(openFiles(), before, 'no descriptor is left');
  const swaps = await Promise.all([...swappers, ...hostile].map((attacker) => attacker.end()));
  await mounter.unmount(instance, { all: true });
  const looked = await watcher.end();
  t.comment(tally.text);
  t.comment(`changes of the attackers: ${swaps.join(', ')}; the mount table: ${looked}`);

  t.strictSame(tally.unexplained, [], 'every failure has its reason');
  t.strictSame(exposed, [], 'no disk shows a file of the host');
  t.match(watcher.stdout, /^watching\nlooked \d+\n$/, 'no mount outside of the pod');
  const left = node.mounts().filter((point) => point.startsWith(node.directories.kubelet));
  t.strictSame(left, [], 'no mount is left');
  canaries.compare(t);
  const mounted = ['disk-0', 'disk-1', 'disk-2', 'extra'].map((name) =>
    tally.count(`mount ${name} mounted`),
  );
  t.ok(
    mounted.some((count) => count > 0),
    'some are mounted all the same',
  );
  t.ok(
    swaps.every((count) => Number(count) > rounds),
    'all attackers worked',
  );
});

/** Whether what is at a path now, or what is mounted there, is one. No link is followed, and nothing waited for. */
function showsCanary(path: string, canaries: Canaries): boolean {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false; // It is a link, or was swapped for nothing.
  }
  try {
    const start = Buffer.alloc(16);
    const status = fstatSync(fd);
    if (status.isFile()) readSync(fd, start, 0, start.length, 0);
    return canaries.isOne(status.dev) || start.toString().startsWith('canary ');
  } finally {
    closeSync(fd);
  }
}

/** A loop device that the attachment pod has, and what is virt-launcher to the mounter. */
function blockVolume(t: Test, node: TestNode, launcher: string, emptyDir: string) {
  const file = join(node.directories.root, 'block.raw');
  writeFileSync(file, 'block'.repeat(65_536));
  const device = new LoopDevice(file);
  t.teardown(() => device[Symbol.dispose]());
  mkdirSync(join(emptyDir, 'block'));
  device.makeNode(join(emptyDir, 'block/device'));
  const cgroup = new PodCgroup(hasDeviceCgroups('v1') ? 'v1' : 'v2', launcher);
  t.teardown(() => cgroup[Symbol.asyncDispose]());
  return {
    virtLauncher: async (sockets: string) => {
      const listen = `process.chdir(process.argv[1]);
        require('net').createServer().listen('launcher-sock', () => console.log('up'))`;
      const argv = [...cgroup.command, process.execPath, '-e', listen, sockets];
      const listener = new Attacker(t, argv, '/');
      while (listener.stdout === '') await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}
