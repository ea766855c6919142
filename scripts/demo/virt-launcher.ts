import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  attachDeviceProgram,
  BPF_F_ALLOW_MULTI,
  queryDevicePrograms,
} from '../../src/kernel/bpf-cgroup.ts';
import { loadDeviceProgram, openProgram, programInfo } from '../../src/kernel/bpf-program.ts';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { Container, type ContainerMount, qemu } from './container.ts';
import { deviceProgram } from './device-program.ts';
import { until } from './holder.ts';
import type { NodeDirectories, PodDirectories } from './node-directories.ts';
import { hasDeviceCgroups, PodCgroup } from './pod-cgroup.ts';

/** The first process of the pod waits for whatever ends in it, as virt-launcher-monitor does. */
const monitor = '"$0" -e "$1" & wait';

/** What stands for virt-launcher: a process in the pod's cgroup and in namespaces of its own, with its socket. */
export class VirtLauncher implements AsyncDisposable {
  readonly container: Container;
  readonly cgroup: PodCgroup;
  /** What the cgroup's rules are, to be compared. */
  readonly rules: () => string;

  private constructor(container: Container, cgroup: PodCgroup, rules: () => string) {
    this.container = container;
    this.cgroup = cgroup;
    this.rules = rules;
  }

  /** @param mounts of the container, besides its sockets and its only device */
  static async start(
    node: NodeDirectories,
    pod: PodDirectories,
    mounts: readonly ContainerMount[],
  ): Promise<VirtLauncher> {
    await using started = new AsyncDisposableStack();
    const version = hasDeviceCgroups('v2') ? 'v2' : 'v1';
    const cgroup = started.use(new PodCgroup(version, pod.uid));
    const sockets = pod.emptyDir('sockets');
    const listen =
      "process.chdir('/sockets'); require('net').createServer().listen('launcher-sock')";
    const container = new Container({
      image: '/',
      scratch: node.scratch(),
      argv: ['sh', '-c', monitor, process.execPath, listen],
      mounts: [
        { source: '/dev/null', destination: '/dev/null' },
        { source: sockets, destination: '/sockets' },
        ...mounts,
      ],
      prefix: cgroup.command,
      hostToContainer: true,
      asRoot: true,
    });
    started.use(container);
    const isUp = await until(() => existsSync(join(sockets, 'launcher-sock')) || container.ended);
    if (!isUp || container.ended)
      throw new Error(`virt-launcher did not start: ${container.stderr}`);
    const rules = denyDevices(cgroup, version);
    started.move();
    return new VirtLauncher(container, cgroup, rules);
  }

  /** Words that run a command as QEMU's user in the pod's cgroup and namespaces. */
  asQemu(...argv: readonly string[]): [command: string, ...rest: string[]] {
    const enter = [`--target=${this.container.pid}`, '--mount', '--pid', '--root', '--wd'];
    const user = [`--reuid=${qemu}`, `--regid=${qemu}`, '--clear-groups', '--no-new-privs'];
    const [command = '', ...rest] = this.cgroup.command;
    return [command, ...rest, 'nsenter', ...enter, 'setpriv', ...user, ...argv];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.container[Symbol.asyncDispose]();
    await this.cgroup[Symbol.asyncDispose]();
  }
}

/** As a runtime does: only /dev/null may be used. @returns what reads the rules that are in force */
export function denyDevices(cgroup: PodCgroup, version: 'v1' | 'v2'): () => string {
  if (version === 'v1') {
    cgroup.write('devices.deny', 'a');
    cgroup.write('devices.allow', 'c 1:3 rwm');
    return () => cgroup.read('devices.list');
  }
  using directory = Descriptor.open(cgroup.container, 0);
  using program = loadDeviceProgram(deviceProgram([{ type: 'c', major: 1, minor: 3 }]));
  attachDeviceProgram(directory.number, program.number, BPF_F_ALLOW_MULTI);
  return () => {
    using opened = Descriptor.open(cgroup.container, 0);
    return queryDevicePrograms(opened.number)
      .ids.map((id) => {
        using attached = openProgram(id);
        return programInfo(attached.number).instructions?.toString('hex') ?? '';
      })
      .join('\n');
  };
}
