import { spawnSync } from 'node:child_process';
import { existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from './disk.ts';
import type { LauncherPod } from './holder.ts';
import type { NodeDirectories } from './node-directories.ts';
import type { Report } from './report.ts';

const program = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

/** The mounter's command on the demo's node, and what it said. */
export class MounterCommand {
  readonly #node: NodeDirectories;
  readonly #vmi: string;

  constructor(node: NodeDirectories, vmi: object) {
    this.#node = node;
    this.#vmi = join(node.root, 'vmi.json');
    this.write(vmi);
  }

  /** Another version of the VMI, as the API server would give it later. */
  write(vmi: object): void {
    writeFileSync(this.#vmi, JSON.stringify(vmi, undefined, 2));
  }

  /** Runs one command with the VMI. */
  run(
    verb: string,
    ...options: readonly string[]
  ): { status: number; stdout: string; stderr: string } {
    const needsVmi = verb !== 'list' && verb !== 'gc';
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        program,
        ...['--kubelet-dir', this.#node.kubelet],
        ...['--state-dir', this.stateDirectory],
        ...['--host-mount-namespace', '/proc/self/ns/mnt'],
        verb,
        ...(needsVmi ? ['--filename', this.#vmi] : []),
        ...options,
      ],
      { encoding: 'utf8' },
    );
    return { status: status ?? -1, stdout, stderr: stderr.trim() };
  }

  get stateDirectory(): string {
    return join(this.#node.root, 'run/container-disk/mounts');
  }
}

/** The VMI of the demo as far as the mounter reads it. */
export function vmiOf(
  { pod }: Pick<LauncherPod, 'pod'>,
  hotplugged: readonly { readonly volume: object; readonly status: object }[] = [],
): object {
  const root = { name: 'root', containerDisk: { image: 'registry.example/demo-disk' } };
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'demo', namespace: 'default', uid: 'b7f3f0e2-0000-4000-8000-000000000001' },
    spec: { volumes: [root, ...hotplugged.map(({ volume }) => volume)] },
    status: {
      activePods: { [pod.uid]: 'this-node' },
      volumeStatus: hotplugged.map(({ status }) => status),
    },
  };
}

/** Ready, mount, list; the disk as the virtual machine sees it. */
export async function mountDisk(
  mounter: MounterCommand,
  { pod, disk }: LauncherPod,
  report: Report,
): Promise<void> {
  const ready = mounter.run('ready', '--timeout', '10s');
  report.check(
    'container-disk-mounter ready',
    ready.status === 0,
    `exit ${ready.status} ${ready.stderr}`.trim(),
  );
  const mount = mounter.run('mount');
  report.check(
    'container-disk-mounter mount',
    mount.status === 0,
    `exit ${mount.status} ${mount.stderr}`.trim(),
  );
  const list = mounter.run('list');
  report.check('container-disk-mounter list', list.status === 0, list.stderr);
  report.text(list.stdout);

  const target = join(pod.emptyDir('container-disks'), 'disk_0.img');
  const seen = await sha256(target);
  report.check(
    'the disk in the launcher pod (disk_0.img)',
    seen === disk.sum,
    `sha256 ${seen.slice(0, 16)}…`,
  );
  report.check('a write to it is refused', writeIsRefused(target), 'EROFS');
}

/** Unmount; the socket goes, and the sidecar with it; nothing is left. */
export function unmountDisk(
  mounter: MounterCommand,
  node: NodeDirectories,
  { pod }: LauncherPod,
  before: string,
  report: Report,
): void {
  const unmount = mounter.run('unmount', '--all');
  report.check(
    'container-disk-mounter unmount --all',
    unmount.status === 0,
    `exit ${unmount.status} ${unmount.stderr}`.trim(),
  );
  const target = join(pod.emptyDir('container-disks'), 'disk_0.img');
  report.check('the target is gone', !existsSync(target), existsSync(target) ? target : '');
  const left = existsSync(mounter.stateDirectory) ? readdirSync(mounter.stateDirectory) : [];
  report.check('no record is left', left.length === 0, left.join(' '));
  const after = mountTable(node.root);
  report.check(
    'the mount table is what it was',
    after === before,
    after === before ? '' : 'it differs',
  );
}

/** The host's mounts below a folder; ids are left out, as they are given anew. */
export function mountTable(folder: string): string {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n');
  return lines
    .filter((line) => line.includes(folder))
    .map((line) => line.split(' ').slice(3).join(' '))
    .sort()
    .join('\n');
}

function writeIsRefused(path: string): boolean {
  try {
    openSync(path, 'r+');
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS';
  }
}
