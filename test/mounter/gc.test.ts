import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { abandonedSocket } from '../support/socket-holder.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');

/** A virtual machine with a disk that is mounted. */
async function running(t: Test, node: TestNode, name: string) {
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const image = node.image(name, { 'disk/disk.img': 'disk'.repeat(1000) });
  const sidecar = await node.sidecar(image, emptyDir, ['disk_0']);
  const instance = vmi({ uid: node.uid(), pods: [pod.uid] });
  t.match(await node.mounter().mount(instance), [{ outcome: 'mounted' }]);
  const end = async () => {
    sidecar.kill('SIGKILL');
    await sidecar.exit;
  };
  return { pod, emptyDir, instance, end, target: join(emptyDir, 'disk_0.img') };
}

t.test('what pods have left', { skip }, async (t) => {
  const node = new TestNode(t);
  const here = await running(t, node, 'here');
  const dead = await running(t, node, 'dead');
  const lost = await running(t, node, 'lost');
  const full = await running(t, node, 'full');
  for (const { end } of [dead, lost, full]) await end();
  rmSync(join(node.stateDirectory, `${lost.instance.uid}.json`));
  rmSync(join(full.emptyDir, 'disk_0.sock'));
  await abandonedSocket(t, join(full.emptyDir, 'disk_0.sock'), 'full');

  // Of a run that was killed while it wrote its first record, and of one whose lock somebody has removed.
  for (const name of ['1.lock', '2.json.new', '3.json.new', '3.lock']) {
    writeFileSync(join(node.stateDirectory, `00000000-0000-4000-8000-77777777777${name}`), '{');
  }
  // In the way of the others: a record that cannot be read, a pod that is a link, a link for a directory of targets.
  mkdirSync(join(node.stateDirectory, '00000000-0000-4000-8000-999999999999.json'));
  symlinkSync(
    '/etc',
    join(node.directories.kubelet, 'pods', '00000000-0000-4000-8000-888888888888'),
  );
  symlinkSync('/etc', join(dead.emptyDir, 'kernel-boot'));
  symlinkSync('/etc', join(dead.emptyDir, 'disk_7.sock'));
  writeFileSync(join(dead.emptyDir, 'disk_8.sock'), '');

  const reports = await node.mounter({ timeout: 200 }).gc();
  t.strictSame(node.mounts().sort(), [here.target, full.target].sort(), 'what may be in use stays');
  t.match(
    reports.filter(({ outcome }) => outcome === 'unmounted').map(({ target }) => target),
    [dead.target, lost.target],
  );
  const failed = reports.filter(({ outcome }) => outcome === 'failed');
  t.match(
    failed.map(({ target }) => target),
    [/999999999999/, /888888888888/],
    'and what could not be looked at is named',
  );
  t.match(failed, [
    { error: { message: /\.json is a directory/ } },
    { error: { code: 'EHOSTILE' } },
  ]);
  const names = readdirSync(node.stateDirectory).filter((name) => !name.includes('9999'));
  t.strictSame(
    names.filter((name) => name.includes('7777')),
    [],
  );
  const kept = [here, full].map(({ instance }) => `${instance.uid}.json`);
  t.strictSame(names.filter((name) => name.endsWith('.json')).sort(), kept.sort());
  t.match(await node.mounter({ timeout: 200 }).unmount(full.instance, { all: true }), [
    { outcome: 'unmounted' },
  ]);
});

t.test('a pod whose directory is gone', { skip }, async (t) => {
  const node = new TestNode(t);
  const { instance, end, pod } = await running(t, node, 'image');
  await end();
  await node.mounter().unmount(instance, { all: true });
  await running(t, node, 'other');
  const record = {
    version: 1,
    namespace: 'default',
    name: 'old',
    uid: instance.uid,
    entries: [
      {
        volume: 'root',
        type: 'file',
        place: {
          directory: ['pods', pod.uid, 'volumes', 'kubernetes.io~empty-dir', 'container-disks'],
          entry: ['disk_0.img'],
        },
      },
    ],
  };
  rmSync(join(node.directories.kubelet, 'pods', pod.uid), { recursive: true });
  const path = join(node.stateDirectory, `${instance.uid}.json`);
  writeFileSync(path, JSON.stringify(record));
  t.match(await node.mounter().gc(), [{ outcome: 'not mounted' }]);
  t.notOk(readdirSync(node.stateDirectory).includes(`${instance.uid}.json`));
  t.equal(node.mounts().length, 1, 'the other one stays');
});
