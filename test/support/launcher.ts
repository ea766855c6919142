import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { Container, type ContainerMount } from '../../scripts/demo/container.ts';
import { NodeDirectories, type PodDirectories } from '../../scripts/demo/node-directories.ts';
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';
import type { VirtualMachineInstance } from '../../src/kubevirt/virtual-machine-instance.ts';
import { Mounter, type MounterOptions } from '../../src/mounter/mounter.ts';
import { program } from './holder.ts';

/** Where a sidecar has its sockets inside its container. */
const sockets = '/disks';

/** What a test node needs of a test, or of whatever else ends after it. */
export type Teardown = Pick<Test, 'teardown'>;

/** A node of the test's own: directories, containers with the real program in namespaces of their own, mounters. */
export class TestNode {
  readonly directories = new NodeDirectories();
  readonly #t: Teardown;
  readonly #containers: Container[] = [];
  #uids = 0;

  constructor(t: Teardown) {
    this.#t = t;
    t.teardown(async () => {
      for (const container of this.#containers) await container[Symbol.asyncDispose]();
      // The kubelet's directory itself is a mount where it is shared; the node's directories take that away.
      const left = this.mounts().filter((point) => point !== this.directories.kubelet);
      for (const mountPoint of left) execFileSync('umount', ['-l', mountPoint]);
      this.directories[Symbol.dispose]();
    });
  }

  get stateDirectory(): string {
    return join(this.directories.root, 'state');
  }

  /** Options of the mounter for this node, whose host is the namespace of the test. */
  get options(): MounterOptions {
    return {
      kubeletDirectory: this.directories.kubelet,
      stateDirectory: this.stateDirectory,
      hostMountNamespace: '/proc/self/ns/mnt',
    };
  }

  /** The same for the command. */
  get arguments(): string[] {
    return [
      ...['--kubelet-dir', this.directories.kubelet],
      ...['--state-dir', this.stateDirectory],
      ...['--host-mount-namespace', '/proc/self/ns/mnt'],
    ];
  }

  mounter(options: MounterOptions = {}): Mounter {
    const mounter = new Mounter({ ...this.options, ...options });
    this.#t.teardown(() => mounter[Symbol.asyncDispose]());
    return mounter;
  }

  /** A uid that no other object of the test has. */
  uid(): string {
    this.#uids += 1;
    return `00000000-0000-4000-8000-${String(this.#uids).padStart(12, '0')}`;
  }

  pod(): PodDirectories {
    return this.directories.pod();
  }

  /** An image's root with a file in it, by its path. */
  image(name: string, files: Readonly<Record<string, string | Buffer>>): string {
    const root = this.directories.image(name);
    for (const [path, content] of Object.entries(files)) {
      const file = join(root, path);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, content, { mode: 0o444 });
    }
    return root;
  }

  /** Starts the program in an image, and waits for its sockets. */
  async sidecar(
    image: string,
    emptyDir: string,
    names: readonly string[],
    mounts: readonly ContainerMount[] = [],
    copyPaths: readonly string[] = names.map((name) => `${sockets}/${name}`),
  ): Promise<Container> {
    const binaries = this.binaries();
    const container = new Container({
      image,
      scratch: this.directories.scratch(),
      argv: ['/usr/bin/container-disk', ...copyPaths.flatMap((path) => ['-c', path])],
      mounts: [
        { source: binaries, destination: '/usr/bin' },
        { source: emptyDir, destination: sockets },
        ...mounts,
      ],
    });
    this.#containers.push(container);
    while (!names.every((name) => existsSync(join(emptyDir, `${name}.sock`)))) {
      if (container.ended) throw new Error(`the sidecar ended: ${container.stderr}`);
      await sleep(2);
    }
    return container;
  }

  /** Mount points below the node's directories, the innermost first. */
  mounts(): string[] {
    return readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[4] ?? '')
      .filter((point) => point.startsWith(`${this.directories.root}/`))
      .reverse();
  }

  /** A directory with the program, which a tenant can reach wherever the repository is. */
  binaries(): string {
    const directory = join(this.directories.root, 'binaries');
    if (!existsSync(directory)) {
      mkdirSync(directory);
      copyFileSync(program, join(directory, 'container-disk'));
    }
    return directory;
  }
}

/** A VMI as the mounter reads it. */
export function vmi(fields: {
  readonly uid: string;
  readonly pods: readonly string[];
  readonly volumes?: readonly object[];
  readonly spec?: object;
  readonly status?: object;
}): VirtualMachineInstance {
  return vmis([manifest(fields)])[0] ?? never();
}

/** The same as the object of the API. */
export function manifest({
  uid,
  pods,
  volumes = [{ name: 'root', containerDisk: { image: 'registry.example/disk' } }],
  spec = {},
  status = {},
}: Parameters<typeof vmi>[0]): object {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: `vm-${uid.slice(-4)}`, namespace: 'default', uid },
    spec: { volumes, ...spec },
    status: { activePods: Object.fromEntries(pods.map((pod) => [pod, 'this-node'])), ...status },
  };
}

function vmis(manifests: readonly object[]): VirtualMachineInstance[] {
  return manifests.flatMap((each) => readVirtualMachineInstances(JSON.stringify(each), 'test'));
}

function never(): never {
  throw new Error('no VMI was read');
}
