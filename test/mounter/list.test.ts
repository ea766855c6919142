import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { abandonedSocket } from '../support/socket-holder.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const content = 'disk'.repeat(1000);

t.test('a disk that the VMI names among several', { skip }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const files = { 'disk/a.img': content, 'disk/b.img': content, 'images/c.img': content };
  await node.sidecar(node.image('several', files), emptyDir, ['disk_0']);
  const volumes = [{ name: 'root', containerDisk: { path: '/images/c.img' } }];
  const instance = vmi({ uid: node.uid(), pods: [pod.uid], volumes });
  const mounter = node.mounter();
  const socket = join(emptyDir, 'disk_0.sock');
  t.match(await mounter.inspect(socket), {
    mountedAt: [],
    reason: /has to hold exactly one file, but 2 are there/,
  });
  await mounter.mount(instance);
  const mounted = {
    socket,
    path: '/images/c.img',
    disk: { format: 'raw', virtualSize: 4096 },
    mountedAt: [join(emptyDir, 'disk_0.img')],
    reason: undefined,
  };
  t.match(await mounter.inspect(socket), mounted);
  t.match((await mounter.list()).sockets, [{ ...mounted, pod: pod.uid, volume: 'disk_0' }]);
});

t.test('a disk whose container was started anew', { skip }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const image = node.image('image', { 'disk/disk.img': content });
  const first = await node.sidecar(image, emptyDir, ['disk_0']);
  const mounter = node.mounter();
  await mounter.mount(vmi({ uid: node.uid(), pods: [pod.uid] }));
  first.kill('SIGTERM');
  await first.exit;
  await node.sidecar(image, emptyDir, ['disk_0']);
  t.match((await mounter.list()).sockets, [
    { volume: 'disk_0', path: '/disk/disk.img', mountedAt: [join(emptyDir, 'disk_0.img')] },
  ]);
});

t.test('a pod that is in the way of the others', { skip }, async (t) => {
  const node = new TestNode(t);
  const [hostile, good] = [node.pod(), node.pod()];
  const image = node.image('image', { 'disk/disk.img': content });
  await node.sidecar(image, good.emptyDir('container-disks'), ['disk_0']);
  const link = node.uid();
  symlinkSync('/etc', join(node.directories.kubelet, 'pods', link));

  const emptyDir = hostile.emptyDir('container-disks');
  mkdirSync(join(emptyDir, 'disk_0.sock'));
  for (const index of [1, 2, 3, 4]) {
    await abandonedSocket(t, join(emptyDir, `disk_${index}.sock`), 'full');
  }
  for (let index = 5; index < 400; index += 1)
    writeFileSync(join(emptyDir, `disk_${index}.sock`), '');
  const start = performance.now();
  const { sockets } = await node.mounter({ timeout: 500 }).list();
  t.ok(performance.now() - start < 2500, 'nobody waits for each after the other');
  t.match(
    sockets.filter(({ pod }) => pod === good.uid),
    [{ path: '/disk/disk.img' }],
  );
  t.match(
    sockets.filter(({ pod }) => pod === link),
    [{ volume: '', reason: /a symbolic link is there, which is not followed/ }],
  );
  const shown = sockets.filter(({ pod }) => pod === hostile.uid);
  t.equal(shown.length, 257);
  t.match(shown.at(0), { volume: 'disk_0', reason: /is a directory, not a socket/ });
  t.match(shown.at(1), { volume: 'disk_1', reason: /has accepted no connection for 500 ms/ });
  t.match(shown.at(-1), { reason: 'has 400 sockets, of which 256 are shown' });
});
