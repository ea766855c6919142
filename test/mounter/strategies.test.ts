import { execFileSync, spawnSync } from 'node:child_process';
import { openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { manifest, TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { tampering } from '../support/tampering.ts';
import { visibleSidecar } from '../support/visible-sidecar.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'strace');
const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');
const content = 'disk'.repeat(1000);

/** The command on a kernel that lacks what a case says, by strace(1). */
async function launcher(t: Test, isVisible: boolean) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const image = node.image('disk', { 'disk/disk.img': content });
  const own: string[] = [];
  if (isVisible) own.push(await visibleSidecar(t, node, image, emptyDir));
  else await node.sidecar(image, emptyDir, ['disk_0']);
  const fields = { uid: node.uid(), pods: [pod.uid] };
  const file = join(node.directories.root, 'vmi.json');
  writeFileSync(file, JSON.stringify(manifest(fields)));
  const run = (injected: readonly string[], ...argv: string[]) =>
    spawnSync(
      'strace',
      [
        ...tampering(...injected),
        ...[process.execPath, command, ...node.arguments, ...argv, '-f', file],
      ],
      { encoding: 'utf8' },
    );
  const mounts = () => node.mounts().filter((point) => !own.includes(point));
  const target = join(emptyDir, 'disk_0.img');
  return { node, emptyDir, run, mounts, target, instance: vmi(fields) };
}

function optionsOf(target: string): string[] {
  return execFileSync('findmnt', ['-n', '-o', 'VFS-OPTIONS', target], { encoding: 'utf8' })
    .trim()
    .split(',');
}

const kernels = {
  'before Linux 5.12': ['mount_setattr:error=ENOSYS'],
  'without open_tree': ['open_tree:error=ENOSYS'],
};

t.test('a root that the host sees', { skip }, async (t) => {
  const { node, emptyDir, run, mounts, target, instance } = await launcher(t, true);
  for (const [name, lacks] of Object.entries(kernels)) {
    for (const strategy of ['auto', 'mountinfo'].slice(0, name === 'without open_tree' ? 2 : 1)) {
      await t.test(`${strategy} on a kernel ${name}`, async (t) => {
        const mount = run(lacks, '--strategy', strategy, 'mount');
        t.equal(mount.status, 0, mount.stderr);
        t.strictSame(mounts(), [target]);
        t.equal(readFileSync(target, 'utf8'), content);
        t.throws(() => openSync(target, 'r+'), { code: 'EROFS' });
        const options = optionsOf(target);
        for (const option of ['ro', 'nosuid', 'nodev', 'noexec']) {
          t.ok(options.includes(option), option);
        }
        t.match(await node.mounter().mount(instance), [{ outcome: 'already mounted' }]);
        t.notOk(readdirSync(node.stateDirectory).includes('stage'), 'no stage is left');
        await node.mounter().unmount(instance, { all: true });
        t.strictSame(mounts(), []);
        t.strictSame(readdirSync(emptyDir), ['disk_0.sock']);
      });
    }
    await t.test(`open_tree on a kernel ${name}`, async (t) => {
      const { status, stderr } = run(lacks, '--strategy', 'open_tree', 'mount');
      t.equal(status, 1);
      t.match(stderr, /no open_tree or mount_setattr.*--strategy mountinfo needs neither/);
      t.strictSame(mounts(), []);
    });
  }

  await t.test('killed at every mount and unmount of it', async (t) => {
    let kills = 0;
    for (const call of ['mount', 'umount2']) {
      for (let count = 1; ; count += 1) {
        const { signal, status } = run(
          [...kernels['without open_tree'], `${call}:signal=KILL:when=${count}`],
          'mount',
        );
        if (signal !== 'SIGKILL' && status !== 137) break;
        kills += 1;
        const where = `at ${call} ${count}`;
        const mounter = node.mounter();
        if (kills % 2 === 0) {
          t.match(await mounter.mount(instance), [{ outcome: /mounted/ }], where);
          t.strictSame(mounts(), [target], `${where}: mounted once, no stage is left`);
          t.ok(optionsOf(target).includes('ro'), `${where}: read-only`);
        }
        await mounter.unmount(instance, { all: true });
        t.strictSame(mounts(), [], `${where}: nothing is left`);
        t.strictSame(readdirSync(node.stateDirectory), [], where);
      }
      await node.mounter().unmount(instance, { all: true });
    }
    t.ok(kills >= 4, `killed ${kills} times`);
  });

  await t.test('gc takes the stage of a killed run', async (t) => {
    run([...kernels['without open_tree'], 'mount:signal=KILL:when=2'], 'mount');
    t.match(mounts(), [/state\/stage\//]);
    await node.mounter().gc();
    t.match(mounts(), [/state\/stage\//], 'not while its pod is there');
    await node.mounter().unmount(instance, { all: true });
    t.strictSame(mounts(), []);
  });
});

t.test('a root that the host does not see', { skip }, async (t) => {
  const { node, instance, run, mounts } = await launcher(t, false);
  for (const [name, lacks] of Object.entries(kernels)) {
    const { status, stderr } = run(lacks, 'mount');
    t.equal(status, 1, name);
    t.match(
      stderr,
      /the host's mount table has no mount with \/disk\/disk\.img of the image behind/,
    );
    t.strictSame(mounts(), []);
  }
  t.match(await node.mounter().mount(instance), [{ outcome: 'mounted' }], 'a newer one can');
  t.equal(mounts().length, 1);
});
