import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { manifest, TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { tampering } from '../support/tampering.ts';

const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

/**
 * Every system call that changes something, or that stands between two that do, and how many of one kind are passed
 * over between two kills.
 */
const calls = {
  openat2: 4,
  flock: 1,
  fsync: 1,
  rename: 1,
  open_tree: 1,
  mount_setattr: 1,
  move_mount: 1,
  umount2: 1,
  unlink: 1,
  rmdir: 1,
  setns: 3,
  mkdir: 1,
};

async function pod(t: Test) {
  const node = new TestNode(t);
  const launcher = node.pod();
  const emptyDir = launcher.emptyDir('container-disks');
  const files = {
    'disk/disk.img': 'disk'.repeat(1000),
    'boot/vmlinuz': 'kernel',
    'boot/initrd': 'initrd',
  };
  await node.sidecar(node.image('disk', files), emptyDir, ['disk_0', 'kernel-boot']);
  const kernelBoot = { container: { kernelPath: '/boot/vmlinuz', initrdPath: '/boot/initrd' } };
  const file = join(node.directories.root, 'vmi.json');
  const fields = {
    uid: node.uid(),
    pods: [launcher.uid],
    spec: { domain: { firmware: { kernelBoot } } },
  };
  writeFileSync(file, JSON.stringify(manifest(fields)));
  const killed = (verb: readonly string[], call: string, count: number) => {
    const { status, signal } = spawnSync('strace', [
      ...tampering(`${call}:signal=KILL:when=${count}`),
      ...[process.execPath, command, ...node.arguments, ...verb, '-f', file],
    ]);
    return signal === 'SIGKILL' || status === 137;
  };
  const targets = ['disk_0.img', 'kernel-boot/initrd', 'kernel-boot/vmlinuz'].map((name) =>
    join(emptyDir, name),
  );
  return { node, emptyDir, killed, targets, instance: vmi(fields), mounter: node.mounter() };
}

const skip = skipUnless('root', 'unshare', 'setpriv', 'strace');

t.test('killed at every system call', { skip, timeout: 300_000 }, async (t) => {
  const { node, emptyDir, killed, targets, instance, mounter } = await pod(t);
  let kills = 0;

  const nothingLeft = (where: string) => {
    t.strictSame(node.mounts(), [], `${where}: no mount`);
    t.strictSame(
      readdirSync(emptyDir).sort(),
      ['disk_0.sock', 'kernel-boot.sock'],
      `${where}: no target`,
    );
    t.strictSame(readdirSync(node.stateDirectory), [], `${where}: no record`);
  };

  for (const verb of [['mount'], ['unmount', '--all']]) {
    for (const [call, step] of Object.entries(calls)) {
      for (let count = 1; ; count += step) {
        if (verb[0] === 'unmount') await mounter.mount(instance);
        if (!killed(verb, call, count)) break;
        kills += 1;
        const where = `${verb[0]} killed at ${call} ${count}`;
        if (kills % 2 === 0) {
          const reports = await mounter.mount(instance);
          t.ok(
            reports.every(({ outcome }) => outcome !== 'failed'),
            `${where}: mount`,
          );
          t.strictSame(node.mounts().sort(), targets, `${where}: all is mounted once`);
          t.equal(readFileSync(targets[1] ?? '', 'utf8'), 'initrd');
        }
        await mounter.unmount(instance, { all: true });
        nothingLeft(where);
      }
      await mounter.unmount(instance, { all: true });
      nothingLeft(`after ${verb[0]} and ${call}`);
    }
  }
  t.comment(`killed ${kills} times`);
  t.ok(kills > 30, `killed ${kills} times`);
});
