import { copyFileSync, existsSync, lstatSync, mkdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { O_PATH } from '../../src/kernel/open-flags.ts';
import { socketPeer } from '../../src/kernel/socket-peer.ts';
import { Container, isRoot } from './container.ts';
import { makeDisk, sha256 } from './disk.ts';
import type { NodeDirectories, PodDirectories } from './node-directories.ts';
import type { Report } from './report.ts';

/** Directory of the sockets inside the containers of a launcher pod, as virt-controller renders it. */
const copyPathDirectory = '/var/run/kubevirt-ephemeral-disks/container-disk-data';

/** The longest that anything here may take to happen, in milliseconds. */
const patience = 10_000;

/** A launcher pod with one container disk. */
export interface LauncherPod {
  readonly pod: PodDirectories;
  readonly sidecar: Container;
  readonly socket: string;
  readonly disk: { readonly image: string; readonly sum: string };
}

/** The copy step: an init container whose image holds nothing but the program, started as KubeVirt renders it. */
export async function copyStep(
  node: NodeDirectories,
  pod: PodDirectories,
  program: string,
  report: Report,
): Promise<string> {
  const image = node.image('container-disk');
  mkdirSync(join(image, 'usr/bin'), { recursive: true });
  copyFileSync(program, join(image, 'usr/bin/container-disk'));
  symlinkSync('container-disk', join(image, 'usr/bin/cp'));
  const binaries = pod.emptyDir('virt-bin-share-dir');
  const start = performance.now();
  await using init = new Container({
    image,
    scratch: node.scratch(),
    argv: ['/usr/bin/cp', '/usr/bin/container-disk', '/init/usr/bin/container-disk'],
    mounts: [{ source: binaries, destination: '/init/usr/bin' }],
  });
  const code = await init.exit;
  const copied = join(binaries, 'container-disk');
  const same =
    code === 0 && existsSync(copied) && (await sha256(copied)) === (await sha256(program));
  report.check(
    'the copy step, from an image with nothing but the program',
    same,
    same
      ? `the same bytes, mode ${mode(copied)}, ${elapsed(start)}`
      : `exit ${code} ${init.stderr}`,
  );
  return binaries;
}

/** The init container of the disk's image, and then its sidecar, by the copied program. */
export async function startSidecar(
  node: NodeDirectories,
  pod: PodDirectories,
  binaries: string,
  name: string,
  report: Report,
): Promise<LauncherPod> {
  const image = node.image(name);
  const sum = await makeDisk(image);
  report.step(`a disk image with nothing but /disk/disk.img: 16 MiB, sha256 ${sum.slice(0, 16)}…`);
  const sockets = pod.emptyDir('container-disks');
  const mounts = [
    { source: binaries, destination: '/usr/bin' },
    { source: sockets, destination: `${copyPathDirectory}/${pod.uid}` },
  ];
  const program = '/usr/bin/container-disk';
  await using init = new Container({
    image,
    scratch: node.scratch(),
    argv: [program, '--no-op'],
    mounts,
  });
  const code = await init.exit;
  report.check(
    'the init container of the disk image, --no-op',
    code === 0,
    `exit ${code} ${init.stderr}`.trim(),
  );

  const start = performance.now();
  const sidecar = new Container({
    image,
    scratch: node.scratch(),
    argv: [program, '--copy-path', `${copyPathDirectory}/${pod.uid}/disk_0`],
    mounts,
  });
  const socket = join(sockets, 'disk_0.sock');
  const appeared = await until(() => existsSync(socket) || sidecar.ended);
  const isSocket = appeared && lstatSync(socket, { throwIfNoEntry: false })?.isSocket() === true;
  report.check(
    'the sidecar makes its socket',
    isSocket,
    isSocket ? elapsed(start) : sidecar.stderr,
  );
  return { pod, sidecar, socket, disk: { image, sum } };
}

/** From the socket to the process, from the process to its root, from the root to the disk. */
export async function follow(
  { socket, sidecar, disk }: LauncherPod,
  report: Report,
): Promise<void> {
  using opened = Descriptor.open(socket, O_PATH);
  const { credentials: peer, process: held } = await socketPeer(opened, socket, patience);
  using _held = held;
  report.check(
    'the socket leads to the process (SO_PEERCRED)',
    peer.pid === sidecar.pid,
    `pid ${peer.pid}, uid ${peer.uid}`,
  );
  if (!isRoot)
    report.step(
      'not root: the container runs as the only uid that a user namespace has, not as 107',
    );
  const root = `/proc/${peer.pid}/root`;
  const seen = await sha256(join(root, 'disk/disk.img'));
  report.check(
    `the process leads to the disk (${root}/disk/disk.img)`,
    seen === disk.sum,
    `sha256 ${seen.slice(0, 16)}…`,
  );
}

/** The removal of the socket ends the sidecar. */
export async function remove({ socket, sidecar }: LauncherPod, report: Report): Promise<void> {
  const start = performance.now();
  unlinkSync(socket);
  const code = await Promise.race([sidecar.exit, sleep(patience, undefined, { ref: false })]);
  report.check(
    'the socket is removed, and the sidecar is gone',
    code === 0,
    `exit ${code}, ${elapsed(start)}`,
  );
}

/** Waits for something to happen; false where it does not. */
export async function until(condition: () => boolean): Promise<boolean> {
  const deadline = performance.now() + patience;
  while (!condition()) {
    if (performance.now() > deadline) return false;
    await sleep(1);
  }
  return true;
}

function elapsed(start: number): string {
  return `${(performance.now() - start).toFixed(0)} ms`;
}

function mode(path: string): string {
  return `0${(lstatSync(path).mode & 0o7777).toString(8)}`;
}
