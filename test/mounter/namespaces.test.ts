import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { manifest, TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');
const content = 'disk'.repeat(1000);

async function launcher(t: Test) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  await node.sidecar(node.image('disk', { 'disk/disk.img': content }), emptyDir, ['disk_0']);
  const fields = { uid: node.uid(), pods: [pod.uid] };
  const file = join(node.directories.root, 'vmi.json');
  writeFileSync(file, JSON.stringify(manifest(fields)));
  return { node, emptyDir, file, instance: vmi(fields), target: join(emptyDir, 'disk_0.img') };
}

t.test('from a mount namespace of its own, as in a pod', { skip }, async (t) => {
  const { node, emptyDir, file, target } = await launcher(t);
  const { root, kubelet } = node.directories;
  const host = `/proc/${process.pid}`;
  /** In the pod the node's directories are not there, but for the host's root. */
  const inPod = (...argv: string[]) =>
    spawnSync(
      'unshare',
      [
        ...['--mount', '--propagation', 'private', 'sh', '-ec'],
        'mount -t tmpfs none "$0"; exec "$@"',
        ...[root, process.execPath, command, ...argv],
      ],
      { encoding: 'utf8', input: readFileSync(file) },
    );
  const options = [
    ...['--kubelet-dir', kubelet, '--state-dir', `${host}/root${node.stateDirectory}`],
    ...['--host-mount-namespace', `${host}/ns/mnt`],
  ];
  for (const strategy of ['open_tree', 'mountinfo']) {
    await t.test(strategy, async (t) => {
      const all = [...options, '--host-root', `${host}/root`, '--strategy', strategy];
      const mount = inPod(...all, 'mount', '-f', '-');
      if (strategy === 'mountinfo') {
        t.equal(mount.status, 1, `${mount.signal} ${mount.stderr}`);
        t.match(
          mount.stderr,
          /the host's mount table has no mount with \/disk\/disk\.img of the image behind/,
        );
        t.strictSame(node.mounts(), []);
      } else {
        t.equal(mount.status, 0, mount.stderr);
        t.strictSame(node.mounts(), [target]);
        t.equal(readFileSync(target, 'utf8'), content);
        t.match(inPod(...all, 'mount', '-f', '-').stdout, 'already mounted');
        t.match(inPod(...all, 'list'), { status: 0, stdout: target });
      }
      const unmount = inPod(...all, 'unmount', '--all', '-f', '-');
      t.equal(unmount.status, 0, unmount.stderr);
      t.strictSame(node.mounts(), []);
      t.strictSame(readdirSync(emptyDir), ['disk_0.sock']);
    });
  }
  await t.test("without the host's root", async (t) => {
    const { status, stderr } = inPod(...options, 'mount', '-f', '-');
    t.equal(status, 1);
    t.match(stderr, /no directory .*kubelet\/pods below \/: is --kubelet-dir/);
    const own = spawnSync(
      'unshare',
      ['--mount', process.execPath, command, ...options, 'mount', '-f', file],
      { encoding: 'utf8' },
    );
    t.equal(own.status, 1);
    t.match(own.stderr, /is not on a mount of the host's namespace .*--host-root/);
    t.strictSame(node.mounts(), []);
    t.equal(
      inPod(...options, '--host-root', `${host}/root`, 'unmount', '--all', '-f', '-').status,
      0,
    );
  });
});

t.test('what virt-launcher sees', { skip }, async (t) => {
  const { node, emptyDir, instance, target } = await launcher(t);
  spawnSync('mount', ['--bind', emptyDir, emptyDir]);
  spawnSync('mount', ['--make-shared', emptyDir]);
  t.teardown(() => spawnSync('umount', ['-l', emptyDir]));
  // HostToContainer of Kubernetes is rslave of mount(8).
  const launcherRoot = join(node.directories.root, 'launcher');
  mkdirSync(launcherRoot);
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'slave', 'sh', '-ec'],
      'mount --rbind "$0" "$1"; mount --make-rslave "$1"; echo up; exec sleep 60',
      ...[emptyDir, launcherRoot],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const seen = `/proc/${child.pid}/root${launcherRoot}/disk_0.img`;
  const mounter = node.mounter();
  t.match(await mounter.mount(instance), [{ outcome: 'mounted' }]);
  t.equal(readFileSync(seen, 'utf8'), content, 'the disk arrives in the running pod');
  t.throws(() => writeFileSync(seen, 'x'), { code: 'EROFS' });
  t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
  t.notOk(existsSync(seen), 'and goes');
  const table = readFileSync(`/proc/${child.pid}/mountinfo`, 'utf8');
  t.notMatch(table, `${launcherRoot}/disk_0.img`);
  t.notOk(existsSync(target));
});

t.test('a sidecar in a user namespace of its own (hostUsers: false)', { skip }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const { root } = node.directories;
  for (const path of [root, join(root, 'rootfs'), join(root, 'rootfs/work')]) {
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o755);
  }
  chmodSync(emptyDir, 0o777);
  const image = node.image('disk', { 'disk/disk.img': content, 'usr/bin/.keep': '' });
  for (const name of ['proc', 'disks']) mkdirSync(join(image, name));
  const script = `
    mount -t tmpfs rootfs "$1/rootfs/work"
    mkdir "$1/rootfs/work/upper" "$1/rootfs/work/work" "$1/rootfs/work/root"
    mount -t overlay -o "lowerdir=$2,upperdir=$1/rootfs/work/upper,workdir=$1/rootfs/work/work" overlay "$1/rootfs/work/root"
    cd "$1/rootfs/work/root"
    mount --rbind /proc proc
    mount --bind "$3" disks
    mount --bind "$4" usr/bin
    exec chroot --userspec=107:107 . /usr/bin/container-disk -c /disks/disk_0`;
  const holder = spawn('unshare', ['--user', '--mount', 'sleep', '60'], { stdio: 'ignore' });
  t.teardown(() => holder.kill('SIGKILL'));
  const namespace = () => readlinkSync(`/proc/${holder.pid}/ns/user`);
  while (namespace() === readlinkSync('/proc/self/ns/user')) await sleep(5);
  for (const map of ['uid_map', 'gid_map']) {
    writeFileSync(`/proc/${holder.pid}/${map}`, '0 100000 65536');
  }
  const child = spawn(
    'nsenter',
    [
      ...['-t', String(holder.pid), '--user', '--mount', '--setuid', '0', '--setgid', '0'],
      ...['sh', '-ec', script, 'sh', root, image, emptyDir, node.binaries()],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'], cwd: '/' },
  );
  t.teardown(() => child.kill('SIGKILL'));
  while (!existsSync(join(emptyDir, 'disk_0.sock'))) {
    if (child.exitCode !== null) throw new Error('the sidecar ended');
    await sleep(5);
  }
  t.equal(statSync(join(emptyDir, 'disk_0.sock')).uid, 100_107);

  const instance = vmi({ uid: node.uid(), pods: [pod.uid] });
  const mounter = node.mounter();
  const target = join(emptyDir, 'disk_0.img');
  t.match(await mounter.mount(instance), [{ outcome: 'mounted' }]);
  t.equal(readFileSync(target, 'utf8'), content);
  t.throws(() => openSync(target, 'r+'), { code: 'EROFS' });
  t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
  t.strictSame(node.mounts(), []);
});
