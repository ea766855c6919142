import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MounterOptions } from '../../../src/mounter/mounter.ts';
import { NodeDirectories } from '../../demo/node-directories.ts';
import { VirtLauncher } from '../../demo/virt-launcher.ts';

/** Device numbers of nodes that nobody opens: loop devices that need not be there. */
const major = 7;
const firstMinor = 5000;

/** A node with a running virtual machine, and an attachment pod with so many block devices for it. */
export class HotplugNode implements AsyncDisposable {
  readonly disks: number;
  readonly options: MounterOptions;
  readonly manifests: readonly object[];
  readonly #directories: NodeDirectories;
  readonly #launcher: VirtLauncher;

  private constructor(
    directories: NodeDirectories,
    launcher: VirtLauncher,
    manifest: object,
    disks: number,
  ) {
    this.#directories = directories;
    this.#launcher = launcher;
    this.disks = disks;
    this.manifests = [manifest];
    this.options = {
      kubeletDirectory: directories.kubelet,
      stateDirectory: join(directories.root, 'state'),
      hostMountNamespace: '/proc/self/ns/mnt',
    };
  }

  static async start(count: number): Promise<HotplugNode> {
    const directories = new NodeDirectories();
    try {
      const [pod, attachment] = [directories.pod(), directories.pod()];
      for (const name of ['container-disks', 'hotplug-disks']) pod.emptyDir(name);
      const volumes = attachment.emptyDir('hotplug-disks');
      const names = Array.from({ length: count }, (_, index) => `block-${index}`);
      for (const [index, name] of names.entries()) {
        mkdirSync(join(volumes, name));
        const node = join(volumes, name, 'device');
        execFileSync('mknod', [node, 'b', String(major), String(firstMinor + index)]);
      }
      const launcher = await VirtLauncher.start(directories, pod, []);
      const manifest = manifestOf(pod.uid, attachment.uid, names);
      return new HotplugNode(directories, launcher, manifest, count);
    } catch (error) {
      directories[Symbol.dispose]();
      throw error;
    }
  }

  /** A path in a directory of the node's own where nothing is yet. */
  newDirectory(): string {
    return this.#directories.scratch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#launcher[Symbol.asyncDispose]();
    this.#directories[Symbol.dispose]();
  }
}

function manifestOf(pod: string, attachment: string, names: readonly string[]): object {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'vm', namespace: 'default', uid: pod },
    spec: {
      volumes: names.map((name) => ({
        name,
        persistentVolumeClaim: { claimName: name, hotpluggable: true },
      })),
    },
    status: {
      activePods: { [pod]: 'this-node' },
      volumeStatus: names.map((name) => ({
        name,
        hotplugVolume: { attachPodUID: attachment },
        persistentVolumeClaimInfo: { volumeMode: 'Block' },
      })),
    },
  };
}
