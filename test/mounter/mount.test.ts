import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const content = Buffer.alloc(1024 * 1024, 'disk');

/** A launcher pod with the sidecars of some disks. */
async function launcher(t: Test, disks = 1) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  for (let index = 0; index < disks; index += 1) {
    const image = node.image(`disk-${index}`, { 'disk/disk.img': content });
    await node.sidecar(image, emptyDir, [`disk_${index}`]);
  }
  const volumes = Array.from({ length: disks }, (_, index) => ({
    name: `disk-${index}`,
    containerDisk: { image: 'registry.example/disk' },
  }));
  const instance = vmi({ uid: node.uid(), pods: [pod.uid], volumes });
  return { node, pod, emptyDir, instance, mounter: node.mounter() };
}

t.test('mount and unmount', { skip }, async (t) => {
  for (const strategy of ['open_tree', 'auto'] as const) {
    t.test(`by ${strategy}`, async (t) => {
      const { node, emptyDir, instance } = await launcher(t, 2);
      const mounter = node.mounter({ strategy });
      const reports = await mounter.mount(instance);
      t.match(reports, [
        {
          volume: 'disk-0',
          outcome: 'mounted',
          disk: { format: 'raw', virtualSize: content.length },
        },
        { volume: 'disk-1', outcome: 'mounted' },
      ]);
      const target = join(emptyDir, 'disk_0.img');
      t.ok(readFileSync(target).equals(content));
      const options = execFileSync('findmnt', ['-n', '-o', 'VFS-OPTIONS', target], {
        encoding: 'utf8',
      })
        .trim()
        .split(',');
      for (const option of ['ro', 'nosuid', 'nodev', 'noexec'])
        t.ok(options.includes(option), option);
      t.throws(() => openSync(target, 'r+'), { code: 'EROFS' });
      t.equal(node.mounts().length, 2);
      t.match(await mounter.unmount(instance, { all: true }), [
        { outcome: 'unmounted' },
        { outcome: 'unmounted' },
      ]);
      t.strictSame(node.mounts(), []);
      t.strictSame(readdirSync(emptyDir).sort(), ['disk_0.sock', 'disk_1.sock']);
      t.strictSame(readdirSync(node.stateDirectory), []);
    });
  }

  t.test('the file is the image’s file', async (t) => {
    const { emptyDir, instance, mounter } = await launcher(t);
    const [report] = await mounter.mount(instance);
    if (report?.outcome !== 'mounted') throw new Error('not mounted');
    const inside = statSync(`/proc/${report.pid}/root${report.source}`, { bigint: true });
    const mounted = statSync(join(emptyDir, 'disk_0.img'), { bigint: true });
    t.equal(mounted.dev, inside.dev);
    t.equal(mounted.ino, inside.ino);
  });

  t.test('options that lead nowhere are refused, also where all is mounted already', async (t) => {
    const { node, instance, mounter } = await launcher(t);
    t.match(await mounter.mount(instance), [{ outcome: 'mounted' }]);
    for (const hostMountNamespace of ['/dev/null', '/proc/self/ns/net', '/etc/hostname']) {
      t.match(await node.mounter({ hostMountNamespace }).mount(instance), [
        {
          outcome: 'failed',
          error: {
            code: 'EUNSUPPORTED',
            message: `${hostMountNamespace} is not a mount namespace`,
          },
        },
      ]);
    }
    await t.rejects(mounter.mount(instance, { sourcePod: '../../etc' }), {
      code: 'EUNSUPPORTED',
      message: '../../etc is not the uid of a pod',
    });
    t.equal(node.mounts().length, 1);
  });

  t.test('idempotent: twice, unmount twice, unmount before mount', async (t) => {
    const { node, instance, mounter } = await launcher(t);
    t.strictSame(await mounter.unmount(instance, { all: true }), []);
    t.match(await mounter.mount(instance), [{ outcome: 'mounted' }]);
    const before = node.mounts();
    t.match(await mounter.mount(instance), [{ outcome: 'already mounted' }]);
    t.strictSame(node.mounts(), before);
    t.strictSame(await mounter.unmount(instance), [], 'what the spec has stays');
    t.strictSame(node.mounts(), before);
    t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
    t.strictSame(await mounter.unmount(instance, { all: true }), []);
    t.strictSame(node.mounts(), []);
  });

  t.test('a sidecar that was started anew: the mount made before still reads', async (t) => {
    const { node, emptyDir, instance, mounter } = await launcher(t);
    await mounter.mount(instance);
    const { pid } = (await mounter.inspect(join(emptyDir, 'disk_0.sock'))) as { pid: number };
    process.kill(pid, 'SIGKILL');
    t.ok(readFileSync(join(emptyDir, 'disk_0.img')).equals(content));
    while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 5));
    t.match(await mounter.ready(instance), [
      { ready: false, reason: /nobody listens on .*disk_0\.sock/ },
    ]);
    unlinkSync(join(emptyDir, 'disk_0.sock'));
    await node.sidecar(node.directories.image('disk-0'), emptyDir, ['disk_0']);
    t.match(await mounter.mount(instance), [{ outcome: 'already mounted' }]);
    t.ok(readFileSync(join(emptyDir, 'disk_0.img')).equals(content));
  });

  t.test('what the spec no longer has is taken away, the rest stays', async (t) => {
    const { node, pod, emptyDir, instance, mounter } = await launcher(t, 2);
    await mounter.mount(instance);
    const less = vmi({
      uid: instance.uid,
      pods: [pod.uid],
      volumes: [{ name: 'disk-0', containerDisk: {} }],
    });
    t.match(await mounter.unmount(less), [{ volume: 'disk-1', outcome: 'unmounted' }]);
    t.strictSame(node.mounts(), [join(emptyDir, 'disk_0.img')]);
    const record = JSON.parse(
      readFileSync(join(node.stateDirectory, `${instance.uid}.json`), 'utf8'),
    );
    t.match(record, { version: 1, uid: instance.uid, entries: [{ volume: 'disk-0' }] });
    t.equal(record.entries.length, 1);
  });
});

t.test('roots that the host sees, for kernels without open_tree', { skip }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const image = node.image('seen', { 'disk/disk.img': content });
  const bundle = join(node.directories.root, 'rootfs');
  for (const name of ['', '/upper', '/work', '/root']) mkdirSync(bundle + name);
  execFileSync('mount', [
    '-t',
    'overlay',
    'overlay',
    '-o',
    `lowerdir=${image},upperdir=${bundle}/upper,workdir=${bundle}/work`,
    `${bundle}/root`,
  ]);
  for (const name of ['proc', 'disks', 'usr/bin'])
    mkdirSync(join(bundle, 'root', name), { recursive: true });
  const child = spawnInRoot(t, join(bundle, 'root'), emptyDir);
  while (!existsSync(join(emptyDir, 'disk_0.sock'))) {
    if (child.exitCode !== null) throw new Error('the sidecar ended');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const instance = vmi({ uid: node.uid(), pods: [pod.uid] });
  for (const strategy of ['mountinfo', 'open_tree'] as const) {
    const mounter = node.mounter({ strategy });
    t.match(await mounter.mount(instance), [{ outcome: 'mounted' }]);
    const target = join(emptyDir, 'disk_0.img');
    t.ok(readFileSync(target).equals(content));
    t.throws(() => openSync(target, 'r+'), { code: 'EROFS' });
    const options = execFileSync('findmnt', ['-n', '-o', 'VFS-OPTIONS', target], {
      encoding: 'utf8',
    })
      .trim()
      .split(',');
    for (const option of ['ro', 'nosuid', 'nodev', 'noexec'])
      t.ok(options.includes(option), `${strategy}: ${option}`);
    const { sockets } = await mounter.list();
    t.match(sockets, [
      {
        volume: 'disk_0',
        imageRoot: join(bundle, 'root'),
        path: '/disk/disk.img',
        mountedAt: [target],
      },
    ]);
    t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
    t.strictSame(node.mounts(), [join(bundle, 'root')], 'no stage is left');
  }
});

/** The program in a root that is mounted in the host's table, as containerd's are, in a mount namespace of its own. */
function spawnInRoot(t: Test, root: string, emptyDir: string) {
  const program = join(import.meta.dirname, '../../dist/container-disk');
  const script =
    'mount --bind "$2" "$1/disks"; mount -t proc proc "$1/proc"; mount --bind "$3" "$1/usr/bin"; exec chroot --userspec=107:107 "$1" /usr/bin/container-disk -c /disks/disk_0';
  const child = spawn(
    'unshare',
    [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-ec',
      script,
      'sh',
      root,
      emptyDir,
      join(program, '..'),
    ],
    { stdio: 'inherit' },
  );
  t.teardown(() => {
    spawnSync('pkill', ['-9', '-P', String(child.pid)]);
    child.kill('SIGKILL');
  });
  return child;
}
