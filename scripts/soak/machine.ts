import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accepts } from '../demo/accepts.ts';
import { Container } from '../demo/container.ts';
import { until } from '../demo/holder.ts';
import type { NodeDirectories, PodDirectories } from '../demo/node-directories.ts';
import { type CgroupVersion, PodCgroup } from '../demo/pod-cgroup.ts';
import { denyDevices } from '../demo/virt-launcher.ts';
import type { Random } from './random.ts';

/** What is shared by all machines: the image of their disks, the program, the attachment pod. */
export interface Surroundings {
  readonly node: NodeDirectories;
  readonly image: string;
  /** The directory with the program. */
  readonly binaries: string;
  readonly attachment: PodDirectories;
}

/** What stands for virt-launcher, small: a listening socket in the pod's cgroup. */
const virtLauncher = `
  use Socket;
  chdir $ARGV[0] or die "chdir: $!";
  socket(my $listener, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
  bind($listener, pack_sockaddr_un('launcher-sock')) or die "bind: $!";
  listen($listener, 64) or die "listen: $!";
  while (1) { accept(my $connection, $listener); close $connection }
`;

const kernelBoot = { container: { kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd' } };

/** A virtual machine: its launcher pod with a sidecar, and a cgroup whose device rules can be read. */
export class Machine implements AsyncDisposable {
  readonly uid: string;
  readonly pod: PodDirectories;
  readonly disks: string;
  readonly hotplugged: string;
  readonly rules: () => string;
  readonly #surroundings: Surroundings;
  readonly #cgroup: PodCgroup;
  readonly #launcher: ChildProcess;
  #sidecar: Container | undefined;

  constructor(surroundings: Surroundings, index: number, version: CgroupVersion) {
    this.#surroundings = surroundings;
    this.uid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    this.pod = surroundings.node.pod();
    this.disks = this.pod.emptyDir('container-disks');
    this.hotplugged = this.pod.emptyDir('hotplug-disks');
    this.#cgroup = new PodCgroup(version, this.pod.uid);
    const sockets = this.pod.emptyDir('sockets');
    const [command = '', ...rest] = this.#cgroup.command;
    this.#launcher = spawn(command, [...rest, 'perl', '-e', virtLauncher, sockets], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.rules = denyDevices(this.#cgroup, version);
  }

  /** Starts the sidecar anew, with the sockets of a disk and of kernel boot. */
  async startSidecar(): Promise<void> {
    const { node, image, binaries } = this.#surroundings;
    const sidecar = new Container({
      image,
      scratch: node.scratch(),
      argv: ['/usr/bin/container-disk', '-c', '/disks/disk_0', '-c', '/disks/kernel-boot'],
      mounts: [
        { source: binaries, destination: '/usr/bin' },
        { source: this.disks, destination: '/disks' },
      ],
    });
    this.#sidecar = sidecar;
    for (const name of ['disk_0', 'kernel-boot']) {
      while (!(await accepts(join(this.disks, `${name}.sock`)))) {
        if (sidecar.ended) throw new Error(`a sidecar ended: ${sidecar.stderr}`);
        await sleep(10);
      }
    }
    // The names are given by link(2), and the temporary ones taken away after that.
    await until(() => !readdirSync(this.disks).some((name) => name.startsWith('.container-disk-')));
  }

  /** As for want of memory. What is mounted from it stays. */
  async killSidecar(): Promise<void> {
    await this.#sidecar?.[Symbol.asyncDispose]();
    this.#sidecar = undefined;
  }

  /** The VMI with some of the volumes. */
  manifest(random: Random): string {
    const { attachment } = this.#surroundings;
    const hotplugVolume = { attachPodUID: attachment.uid };
    const claim = (name: string) => ({
      name,
      persistentVolumeClaim: { claimName: name, hotpluggable: true },
    });
    const hotplug = [
      { name: 'extra', containerDisk: { hotpluggable: true } },
      claim('data'),
      claim('block'),
    ].filter(() => random.once(2));
    return JSON.stringify({
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstance',
      metadata: { name: `vm-${this.uid.slice(-3)}`, namespace: 'soak', uid: this.uid },
      spec: {
        volumes: [{ name: 'root', containerDisk: {} }, ...hotplug],
        domain: { firmware: random.once(2) ? { kernelBoot } : {} },
      },
      status: {
        activePods: { [this.pod.uid]: 'this-node' },
        volumeStatus: [
          { name: 'extra', hotplugVolume },
          {
            name: 'data',
            hotplugVolume,
            persistentVolumeClaimInfo: { volumeMode: 'Filesystem' },
          },
          { name: 'block', hotplugVolume, persistentVolumeClaimInfo: { volumeMode: 'Block' } },
        ],
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killSidecar();
    const ended = once(this.#launcher, 'exit');
    this.#launcher.kill('SIGKILL');
    await ended;
    await this.#cgroup[Symbol.asyncDispose]();
  }
}
