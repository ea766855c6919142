import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MounterOptions } from '../../../src/mounter/mounter.ts';
import { Container } from '../../demo/container.ts';
import { until } from '../../demo/holder.ts';
import { NodeDirectories, type PodDirectories } from '../../demo/node-directories.ts';
import { compile } from '../compile.ts';

/** Disks of a virtual machine; a node with many disks has many virtual machines. */
const disksOfOne = 10;

/** Where the image has its disk. */
const diskPath = 'disk/disk.img';

/** A node with so many container disks, each with a process in a mount namespace of its own that holds its socket. */
export class DiskNode implements AsyncDisposable {
  readonly disks: number;
  readonly options: MounterOptions;
  /** The objects of the API. */
  readonly manifests: readonly object[];
  /** Where the disks are mounted. */
  readonly targets: readonly string[];
  /** The disk as the host sees it. */
  readonly visibleDisk: string;
  readonly #directories: NodeDirectories;
  readonly #container: Container;

  private constructor(
    directories: NodeDirectories,
    container: Container,
    pods: readonly { readonly pod: PodDirectories; readonly disks: number }[],
  ) {
    this.#directories = directories;
    this.#container = container;
    this.disks = pods.reduce((sum, { disks }) => sum + disks, 0);
    this.options = {
      kubeletDirectory: directories.kubelet,
      stateDirectory: join(directories.root, 'state'),
      hostMountNamespace: '/proc/self/ns/mnt',
    };
    this.manifests = pods.map(({ pod, disks }) => manifest(pod.uid, disks));
    this.targets = pods.flatMap(({ pod, disks }) =>
      Array.from({ length: disks }, (_, index) => join(emptyDirOf(pod), `disk_${index}.img`)),
    );
    this.visibleDisk = join(directories.image('disk'), diskPath);
  }

  static async start(count: number, scratch: string): Promise<DiskNode> {
    const directories = new NodeDirectories();
    const image = directories.image('disk');
    mkdirSync(join(image, 'disk'));
    writeFileSync(join(image, diskPath), 'x'.repeat(512), { mode: 0o444 });
    const pods = Array.from({ length: Math.ceil(count / disksOfOne) }, (_, index) => ({
      pod: directories.pod(),
      disks: Math.min(disksOfOne, count - index * disksOfOne),
    }));
    const binaries = join(directories.root, 'binaries');
    mkdirSync(binaries);
    copyFileSync(compile('sockets', scratch, '-static'), join(binaries, 'sockets'));
    const inContainer = pods.flatMap(({ pod, disks }) => {
      const emptyDir = emptyDirOf(pod).replace(directories.kubelet, '');
      return Array.from({ length: disks }, (_, index) => `${emptyDir}/disk_${index}.sock\n`);
    });
    writeFileSync(join(binaries, 'list'), inContainer.join(''));
    const container = new Container({
      image,
      scratch: directories.scratch(),
      argv: ['/usr/bin/sockets', '/usr/bin/list'],
      // For mount namespaces of their own.
      asRoot: true,
      mounts: [
        { source: binaries, destination: '/usr/bin' },
        { source: join(directories.kubelet, 'pods'), destination: '/pods' },
      ],
    });
    const node = new DiskNode(directories, container, pods);
    await until(() => container.ended || container.stdout.includes('ready'));
    if (!container.ended && container.stdout.includes('ready')) return node;
    await node[Symbol.asyncDispose]();
    throw new Error(`the sockets are not there: ${container.stderr}`);
  }

  /** Pid of the process that has started those that hold the sockets. */
  get pid(): number {
    if (this.#container.pid === undefined) throw new Error('the container has ended');
    return this.#container.pid;
  }

  /** peers/mount-loop.c for all of its disks. */
  loopCommand(program: string): [command: string, ...argv: string[]] {
    const list = this.file('targets');
    writeFileSync(list, this.targets.map((target) => `${target}\n`).join(''));
    return [program, String(this.pid), diskPath, list];
  }

  /** The options for the command. */
  get arguments(): string[] {
    return [
      ...['--kubelet-dir', this.#directories.kubelet],
      ...['--state-dir', this.file('state')],
      ...['--host-mount-namespace', '/proc/self/ns/mnt'],
    ];
  }

  /** A path in a directory of the node's own where nothing is yet. */
  newDirectory(): string {
    return this.#directories.scratch();
  }

  /** A file of the node's own. */
  file(name: string): string {
    return join(this.#directories.root, name);
  }

  /** Mounts that are left are those of a run that failed; they go with the mount namespace of the benchmark. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#container[Symbol.asyncDispose]();
    this.#directories[Symbol.dispose]();
  }
}

function emptyDirOf(pod: PodDirectories): string {
  return pod.emptyDir('container-disks');
}

function manifest(pod: string, disks: number): object {
  const volumes = Array.from({ length: disks }, (_, index) => ({
    name: `disk-${index}`,
    containerDisk: { image: 'registry.example/disk' },
  }));
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: `vm-${pod.slice(0, 8)}`, namespace: 'default', uid: pod },
    spec: { volumes },
    status: { activePods: { [pod]: 'this-node' } },
  };
}
