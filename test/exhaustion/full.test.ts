import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { MountReport } from '../../src/mounter/prepared.ts';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');

/** A launcher pod whose emptyDir, and a state directory, are file systems of a few files each. */
async function fullNode(t: import('tap').Test, socket = 'disk_0') {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=8,mode=777', 'emptydir', emptyDir]);
  mkdirSync(node.stateDirectory);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=8', 'state', node.stateDirectory]);
  await node.sidecar(node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) }), emptyDir, [
    socket,
  ]);
  const fill = (directory: string) => {
    for (let index = 0; ; index += 1) {
      try {
        writeFileSync(join(directory, `filler-${index}`), '');
      } catch {
        return;
      }
    }
  };
  const kernelBoot = { container: { kernelPath: '/disk/disk.img' } };
  const boot = { volumes: [], spec: { domain: { firmware: { kernelBoot } } } };
  const wanted = socket === 'disk_0' ? {} : boot;
  const instance = vmi({ uid: node.uid(), pods: [pod.uid], ...wanted });
  const own = [emptyDir, node.stateDirectory];
  const mounts = () => node.mounts().filter((point) => !own.includes(point));
  return { node, emptyDir, fill, instance, mounts, mounter: node.mounter() };
}

function messageOf([report]: readonly MountReport[]): string {
  return report?.outcome === 'failed' ? report.error.message : 'nothing failed';
}

t.test('no room for a target', { skip }, async (t) => {
  const { node, emptyDir, fill, instance, mounts, mounter } = await fullNode(t);
  fill(emptyDir);
  const why = async () => messageOf(await mounter.mount(instance));
  const target = join(emptyDir, 'disk_0.img');
  t.match(await why(), `no space left on device, openat2 '${target}'`);
  execFileSync('mount', ['-o', 'remount,ro', emptyDir]);
  t.match(await why(), `read-only file system, openat2 '${target}'`);
  t.strictSame(mounts(), []);
  await mounter.unmount(instance, { all: true });
  t.strictSame(readdirSync(node.stateDirectory), [], 'no record is left');
});

t.test('no room for the directory of kernel boot', { skip }, async (t) => {
  const { emptyDir, fill, instance, mounts, mounter } = await fullNode(t, 'kernel-boot');
  fill(emptyDir);
  const directory = join(emptyDir, 'kernel-boot');
  t.match(
    messageOf(await mounter.mount(instance)),
    `no space left on device, mkdir '${directory}'`,
  );
  t.strictSame(mounts(), []);
});

t.test('no room for a record, or for a lock', { skip }, async (t) => {
  const { node, emptyDir, fill, instance, mounts, mounter } = await fullNode(t);
  fill(node.stateDirectory);
  await t.rejects(mounter.mount(instance), {
    code: 'ERECORD',
    message: /cannot make the lock .*no space left on device/,
  });
  t.strictSame(mounts(), [], 'nothing is mounted that no record tells of');
  t.strictSame(readdirSync(emptyDir), ['disk_0.sock']);
  execFileSync('rm', [join(node.stateDirectory, 'filler-0')]);
  await t.rejects(mounter.mount(instance), {
    code: 'ERECORD',
    message: /cannot write the record .*no space left on device/,
  });
  t.strictSame(mounts(), []);
  execFileSync('rm', [join(node.stateDirectory, 'filler-1')]);
  t.match(await mounter.mount(instance), [{ outcome: 'mounted' }]);
  fill(node.stateDirectory);
  t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
  t.strictSame(mounts(), []);
});

t.test('a state directory that is read-only from the first', { skip }, async (t) => {
  const { node, emptyDir, instance, mounts, mounter } = await fullNode(t);
  execFileSync('mount', ['-o', 'remount,ro', node.stateDirectory]);
  await t.rejects(mounter.mount(instance), { code: 'ERECORD', message: /read-only file system/ });
  t.strictSame(mounts(), []);
  t.strictSame(readdirSync(emptyDir), ['disk_0.sock']);
  t.match(await mounter.list(), { sockets: [{ volume: 'disk_0' }] }, 'what writes nothing works');
  t.match(await mounter.ready(instance, { timeout: 0 }), [{ ready: true }]);
  t.strictSame(await mounter.unmount(instance, { all: true }), []);
  t.strictSame(await mounter.gc(), []);
});
