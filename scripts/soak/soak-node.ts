import { execFileSync } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Container, qemu } from '../demo/container.ts';
import { LoopDevice } from '../demo/loop-device.ts';
import { NodeDirectories } from '../demo/node-directories.ts';
import { hasDeviceCgroups } from '../demo/pod-cgroup.ts';
import { Machine } from './machine.ts';

const program = join(import.meta.dirname, '../../dist/container-disk');

/** A node with virtual machines, of which nothing is mounted yet. */
export class SoakNode implements AsyncDisposable {
  readonly directories: NodeDirectories;
  readonly machines: readonly Machine[];
  readonly #stack: AsyncDisposableStack;

  private constructor(
    directories: NodeDirectories,
    machines: readonly Machine[],
    stack: AsyncDisposableStack,
  ) {
    this.directories = directories;
    this.machines = machines;
    this.#stack = stack;
  }

  get stateDirectory(): string {
    return join(this.directories.root, 'state');
  }

  static async start(count: number, signal: AbortSignal): Promise<SoakNode> {
    await using made = new AsyncDisposableStack();
    const node = made.use(new NodeDirectories());
    const binaries = join(node.root, 'binaries');
    mkdirSync(binaries);
    copyFileSync(program, join(binaries, 'container-disk'));
    const image = node.image('disk');
    for (const file of ['disk/disk.img', 'boot/vmlinuz', 'boot/initrd']) {
      mkdirSync(join(image, file, '..'), { recursive: true });
      writeFileSync(join(image, file), file.repeat(1000), { mode: 0o444 });
    }
    const attachment = node.pod();
    await attachmentPod(node, { image, binaries, pod: attachment, made });
    const versions = (['v1', 'v2'] as const).filter(hasDeviceCgroups);
    const machines: Machine[] = [];
    for (let index = 1; index <= count; index += 1) {
      signal.throwIfAborted();
      const version = versions[index % versions.length] ?? 'v2';
      const machine = new Machine({ node, image, binaries, attachment }, index, version);
      made.use(machine);
      await machine.startSidecar();
      machines.push(machine);
    }
    return new SoakNode(node, machines, made.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}

/** One pod that has a volume with a file system, a block device and a container disk, for all machines. */
async function attachmentPod(
  node: NodeDirectories,
  {
    image,
    binaries,
    pod,
    made,
  }: {
    image: string;
    binaries: string;
    pod: ReturnType<NodeDirectories['pod']>;
    made: AsyncDisposableStack;
  },
): Promise<void> {
  const data = join(node.root, 'data');
  mkdirSync(data);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'data', data]);
  made.defer(() => void execFileSync('umount', ['-l', data]));
  writeFileSync(join(data, 'disk.img'), 'data'.repeat(1000));
  chownSync(join(data, 'disk.img'), qemu, qemu);

  const file = join(node.root, 'block.raw');
  writeFileSync(file, 'block'.repeat(65_536));
  const device = made.use(new LoopDevice(file));
  const volumes = pod.emptyDir('hotplug-disks');
  mkdirSync(join(volumes, 'block'));
  device.makeNode(join(volumes, 'block/device'));

  const disks = pod.emptyDir('hotplug-container-disks');
  const container = new Container({
    image,
    scratch: node.scratch(),
    argv: [
      ...['/usr/bin/container-disk', '-c', '/path/hp'],
      ...['-c', '/disks/hotplug-container-disk-extra'],
    ],
    mounts: [
      { source: binaries, destination: '/usr/bin' },
      { source: volumes, destination: '/path' },
      { source: disks, destination: '/disks' },
      { source: data, destination: '/data' },
    ],
  });
  made.use(container);
  const sockets = [join(volumes, 'hp.sock'), join(disks, 'hotplug-container-disk-extra.sock')];
  while (!sockets.every((socket) => existsSync(socket))) {
    if (container.ended) throw new Error(`the attachment pod ended: ${container.stderr}`);
    await sleep(10);
  }
}
