import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { manifest, TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { silentFileSystem } from '../support/silent-file-system.ts';

const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');
const skip = skipUnless('root', 'unshare', 'setpriv', 'fuse');

/** A launcher pod with a disk in an image whose file system does not answer, and one in an image whose does. */
async function launcher(t: Test) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const silent = join(node.directories.root, 'silent');
  await silentFileSystem(t, silent);
  await node.sidecar(
    node.image('silent-image', { 'disk/.keep': '' }),
    emptyDir,
    ['disk_0'],
    [{ source: silent, destination: '/disk' }],
  );
  const image = node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) });
  await node.sidecar(image, emptyDir, ['disk_1']);
  const volumes = [0, 1].map((index) => ({ name: `disk-${index}`, containerDisk: {} }));
  const fields = { uid: node.uid(), pods: [pod.uid], volumes };
  const mounts = () => node.mounts().filter((point) => point !== silent);
  return { node, emptyDir, fields, instance: vmi(fields), mounts };
}

t.test('a file system that does not answer', { skip }, async (t) => {
  const { node, emptyDir, instance, mounts } = await launcher(t);
  const mounter = node.mounter({ timeout: 2000 });
  let ticks = 0;
  const ticking = setInterval(() => {
    ticks += 1;
  }, 20);
  const start = performance.now();
  const reports = await mounter.mount(instance);
  clearInterval(ticking);
  t.match(reports, [
    {
      volume: 'disk-0',
      outcome: 'failed',
      error: {
        code: 'ETIMEDOUT',
        message:
          /the file system of the image behind .*disk_0\.sock .*has not answered for 2000 ms/,
      },
    },
    { volume: 'disk-1', outcome: 'mounted' },
  ]);
  t.ok(performance.now() - start < 10_000);
  t.ok(ticks > 10, 'meanwhile everything else goes on');
  t.strictSame(mounts(), [join(emptyDir, 'disk_1.img')]);

  const { sockets } = await mounter.list();
  t.match(sockets, [
    { volume: 'disk_0', reason: /has not answered/ },
    { volume: 'disk_1', mountedAt: [join(emptyDir, 'disk_1.img')] },
  ]);
  t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
  t.strictSame(mounts(), []);
});

t.test('the command ends, though a thread cannot', { skip }, async (t) => {
  const { node, emptyDir, fields } = await launcher(t);
  const file = join(node.directories.root, 'vmi.json');
  writeFileSync(file, JSON.stringify(manifest(fields)));
  const child = spawn(
    process.execPath,
    [
      ...[command, ...node.arguments, '--socket-timeout', '2000ms', '-o', 'json'],
      ...['mount', '-f', file],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  t.teardown(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, 'close');
  t.not(await Promise.race([ended, sleep(30_000, 'still there', { ref: false })]), 'still there');
  t.strictSame(await ended, [1, null]);
  t.match(stderr, /error: disk-0: the file system of .* has not answered for 2000 ms/);
  t.match(JSON.parse(stdout), [{ volumes: [{ outcome: 'failed' }, { outcome: 'mounted' }] }]);
  t.ok(existsSync(join(emptyDir, 'disk_1.img')));
});
