import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const content = 'disk'.repeat(1000);

/** A launcher pod whose image is `files`; `prepare` changes the image's root before the sidecar starts. */
async function launcher(
  t: Test,
  files: Readonly<Record<string, string | Buffer>>,
  prepare: (root: string) => void = () => {},
) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const root = node.image('image', files);
  prepare(root);
  await node.sidecar(root, emptyDir, ['disk_0', 'kernel-boot']);
  const uid = node.uid();
  const instance = (containerDisk: object = {}, spec: object = {}) =>
    vmi({ uid, pods: [pod.uid], volumes: [{ name: 'root', containerDisk }], spec });
  return { node, pod, emptyDir, instance, mounter: node.mounter() };
}

t.test('what an image holds', { skip }, async (t) => {
  const refused = async (
    t: Test,
    files: Parameters<typeof launcher>[1],
    message: RegExp,
    options: { path?: string; prepare?: (root: string) => void } = {},
  ) => {
    const { node, emptyDir, instance, mounter } = await launcher(t, files, options.prepare);
    const path = options.path === undefined ? {} : { path: options.path };
    const reports = await mounter.mount(instance(path));
    t.match(reports, [{ volume: 'root', outcome: 'failed', error: { message } }]);
    t.strictSame(node.mounts(), []);
    t.notOk(readdirSync(emptyDir).includes('disk_0.img'), 'no target is made');
  };

  t.test('no disk', (t) =>
    refused(t, { 'disk/.keep/x': '' }, /not a regular file, but a directory/),
  );
  t.test('no directory', (t) =>
    refused(
      t,
      { 'other/x': '' },
      /no directory \/disk in the image behind .*disk_0\.sock \(pid \d+\)/,
    ),
  );
  t.test('an empty directory', (t) =>
    refused(t, {}, /\/disk in .* has to hold exactly one file, but it is empty/, {
      prepare: (root) => mkdirSync(join(root, 'disk')),
    }),
  );
  t.test('two disks, which are named', (t) =>
    refused(
      t,
      { 'disk/a.img': content, 'disk/b.img': content },
      /2 are there: a\.img, b\.img \(containerDisk\.path chooses one\)/,
    ),
  );
  t.test('a path that is not there', (t) =>
    refused(t, { 'disk/a.img': content }, /no disk at \/nothing in .*ENOENT/, { path: '/nothing' }),
  );
  t.test('a path with .. stays in the image', async (t) => {
    writeFileSync('/tmp/container-disk-outside', content);
    t.teardown(() => rmSync('/tmp/container-disk-outside', { force: true }));
    await refused(t, { 'disk/a.img': content }, /no disk at/, {
      path: '/../../../../../tmp/container-disk-outside',
    });
  });
  t.test('a link that leads out leads nowhere', (t) =>
    refused(t, {}, /no disk at \/disk\/disk\.img|not a regular file/, {
      prepare: (root) => {
        mkdirSync(join(root, 'disk'));
        symlinkSync('/etc/passwd', join(root, 'disk/disk.img'));
      },
    }),
  );
  t.test('a magic link of /proc is not followed', (t) =>
    refused(t, {}, /ELOOP/, {
      prepare: (root) => {
        mkdirSync(join(root, 'disk'));
        symlinkSync('/proc/1/root/etc/passwd', join(root, 'disk/disk.img'));
      },
    }),
  );
  t.test('a named pipe, which would make the reader wait', (t) =>
    refused(t, { 'disk/x/y': '' }, /is not a regular file, but a named pipe/, {
      prepare: (root) => {
        rmSync(join(root, 'disk/x'), { recursive: true });
        execFileSync('mkfifo', [join(root, 'disk/disk.img')]);
      },
    }),
  );
  t.test('a device', (t) =>
    refused(t, {}, /is not a regular file, but a device/, {
      prepare: (root) => {
        mkdirSync(join(root, 'disk'));
        execFileSync('mknod', [join(root, 'disk/disk.img'), 'b', '7', '0']);
      },
    }),
  );
  t.test('a file that QEMU cannot read', (t) =>
    refused(
      t,
      { 'disk/disk.img': content },
      /cannot be read by uid 107: it belongs to 0:0 with mode 0600\. Build the image with COPY --chown=107:107/,
      {
        prepare: (root) => chmodSync(join(root, 'disk/disk.img'), 0o600),
      },
    ),
  );
  t.test('a qcow2 with a backing file', (t) => {
    const header = Buffer.alloc(65536 * 4);
    header.write('QFI\xfb', 0, 'latin1');
    header.writeUInt32BE(2, 4);
    header.writeBigUInt64BE(512n, 8);
    header.writeUInt32BE(11, 16);
    header.writeUInt32BE(16, 20);
    header.writeBigUInt64BE(1n << 20n, 24);
    header.writeUInt32BE(1, 36);
    header.writeBigUInt64BE(65536n, 40);
    header.writeBigUInt64BE(131072n, 48);
    header.writeUInt32BE(1, 56);
    header.write('/etc/passwd', 512);
    return refused(t, { 'disk/disk.img': header }, /is refused: .*backing file/);
  });
  t.test('a name that would break the log', (t) =>
    refused(t, { 'disk/a\nb\u001b[31m': content, 'disk/c': content }, /a\\u\{a\}b\\u\{1b\}\[31m/),
  );

  t.test('links inside the image are followed inside it', async (t) => {
    const { emptyDir, instance, mounter } = await launcher(
      t,
      { 'images/real.img': content },
      (root) => {
        mkdirSync(join(root, 'disk'));
        symlinkSync('/images/real.img', join(root, 'disk/disk.img'));
      },
    );
    t.match(await mounter.mount(instance()), [{ outcome: 'mounted', source: '/disk/disk.img' }]);
    t.equal(readFileSync(join(emptyDir, 'disk_0.img'), 'utf8'), content);
  });

  t.test('a kernel that is a link out of the image', async (t) => {
    const { node, instance, mounter } = await launcher(t, { 'disk/disk.img': content }, (root) => {
      mkdirSync(join(root, 'boot'));
      symlinkSync('../../../../../../../etc/passwd', join(root, 'boot/vmlinuz'));
    });
    const kernelBoot = { container: { kernelPath: '/boot/vmlinuz' } };
    const reports = await mounter.mount(instance({}, { domain: { firmware: { kernelBoot } } }));
    t.match(
      reports.find(({ kind }) => kind === 'kernelBoot'),
      { outcome: 'failed', error: { code: 'EDISK' } },
    );
    t.equal(node.mounts().length, 1, 'the disk is mounted all the same');
  });
});

t.test('what a pod puts into its emptyDir', { skip }, async (t) => {
  const canary = join('/tmp', `container-disk-canary-${process.pid}`);
  const fresh = () => {
    rmSync(canary, { force: true });
    writeFileSync(canary, 'precious', { mode: 0o640 });
    return statSync(canary);
  };
  t.teardown(() => rmSync(canary, { force: true }));

  for (const [name, put, message] of [
    [
      'a link at the target',
      (dir: string) => symlinkSync(canary, join(dir, 'disk_0.img')),
      /cannot mount on .*disk_0\.img: a link is there/,
    ],
    [
      'a directory at the target',
      (dir: string) => mkdirSync(join(dir, 'disk_0.img')),
      /cannot mount on .*disk_0\.img: a directory is there/,
    ],
    [
      'a named pipe at the target',
      (dir: string) => execFileSync('mkfifo', [join(dir, 'disk_0.img')]),
      /cannot mount on .*disk_0\.img: a named pipe is there/,
    ],
    [
      'a link at the socket',
      (dir: string) => {
        unlinkSync(join(dir, 'disk_0.sock'));
        symlinkSync('kernel-boot.sock', join(dir, 'disk_0.sock'));
      },
      /is a link, not a socket/,
    ],
    [
      'a regular file at the socket',
      (dir: string) => {
        unlinkSync(join(dir, 'disk_0.sock'));
        writeFileSync(join(dir, 'disk_0.sock'), '');
      },
      /is a regular file, not a socket/,
    ],
  ] as const) {
    t.test(name, async (t) => {
      const before = fresh();
      const { node, emptyDir, instance, mounter } = await launcher(t, { 'disk/disk.img': content });
      put(emptyDir);
      t.match(await mounter.mount(instance()), [{ outcome: 'failed', error: { message } }]);
      t.strictSame(node.mounts(), []);
      await mounter.unmount(instance(), { all: true });
      t.strictSame(statSync(canary), before, 'the host’s file is as it was');
      t.equal(readFileSync(canary, 'utf8'), 'precious');
    });
  }

  t.test('kernel-boot is a link', async (t) => {
    const { node, emptyDir, instance, mounter } = await launcher(t, {
      'disk/disk.img': content,
      'boot/k': 'kernel',
    });
    const elsewhere = join(node.directories.root, 'elsewhere');
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, join(emptyDir, 'kernel-boot'));
    const spec = { domain: { firmware: { kernelBoot: { container: { kernelPath: '/boot/k' } } } } };
    const reports = await mounter.mount(instance({}, spec));
    t.match(
      reports.find(({ kind }) => kind === 'kernelBoot'),
      { outcome: 'failed', error: { message: /kernel-boot: what is there is not a directory/ } },
    );
    t.strictSame(readdirSync(elsewhere), []);
    await mounter.unmount(instance({}, spec), { all: true });
    t.ok(existsSync(elsewhere));
  });

  for (const [name, script] of [
    ['renamed', 'mv disk_0.img x'],
    ['renamed like a socket', 'mv disk_0.img disk_9.sock'],
    ['renamed, with a decoy in its place', 'mv disk_0.img x; : > disk_0.img'],
    ['moved into a new directory', 'mkdir d; mv disk_0.img d/disk_0.img'],
    [
      'moved into a directory in its own place',
      'mv disk_0.img x; mkdir disk_0.img; mv x disk_0.img/',
    ],
    [
      'moved into a directory in its own place, beside a file',
      'mv disk_0.img x; mkdir disk_0.img; : > disk_0.img/y; mv x disk_0.img/',
    ],
    ['moved beside the kernel', 'mv disk_0.img kernel-boot/k2'],
    ['moved in place of the kernel', 'mv disk_0.img kernel-boot/k'],
    [
      'exchanged with the kernel',
      'mv disk_0.img x; mv kernel-boot/k disk_0.img; mv x kernel-boot/k',
    ],
  ] as const) {
    t.test(`a target that is ${name} where the mount is not seen`, async (t) => {
      const files = { 'disk/disk.img': content, 'boot/k': 'kernel' };
      const { node, emptyDir, instance, mounter } = await launcher(t, files);
      const container = { kernelPath: '/boot/k' };
      const spec = { domain: { firmware: { kernelBoot: { container } } } };
      const [disk] = await mounter.mount(instance({}, spec));
      t.equal(node.mounts().length, 2);
      const pid = disk && 'pid' in disk ? String(disk.pid) : '';
      const argv = ['--target', pid, '--mount', 'sh', '-ec', `cd "$1"; ${script}`, 'sh', emptyDir];
      const { status, stderr } = spawnSync('nsenter', argv, { encoding: 'utf8' });
      t.equal(status, 0, stderr);
      const reports = await mounter.unmount(instance({}, spec), { all: true });
      t.ok(reports.every(({ outcome }) => outcome !== 'failed'));
      t.strictSame(node.mounts(), []);
      t.strictSame(readdirSync(node.stateDirectory), []);
    });
  }

  t.test('a directory that is moved away with the mounts in it', async (t) => {
    const files = { 'disk/disk.img': content, 'boot/k': 'kernel' };
    const { node, emptyDir, instance, mounter } = await launcher(t, files);
    const spec = { domain: { firmware: { kernelBoot: { container: { kernelPath: '/boot/k' } } } } };
    await mounter.mount(instance({}, spec));
    t.equal(node.mounts().length, 2);
    renameSync(join(emptyDir, 'kernel-boot'), join(emptyDir, 'elsewhere'));
    symlinkSync('/etc', join(emptyDir, 'kernel-boot'));
    const reports = await mounter.unmount(instance({}, spec), { all: true });
    t.ok(reports.every(({ outcome }) => outcome !== 'failed'));
    t.strictSame(node.mounts(), []);
    t.strictSame(readdirSync(node.stateDirectory), []);
  });
});

t.test('the kubelet’s directory is and contains a link', { skip }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  await node.sidecar(node.image('disk', { 'disk/disk.img': content }), emptyDir, ['disk_0']);
  const link = join(node.directories.root, 'kubelet-link');
  symlinkSync(node.directories.kubelet, link);
  const indirect = join(node.directories.root, 'indirect');
  mkdirSync(indirect);
  symlinkSync(join(node.directories.kubelet, 'pods'), join(indirect, 'pods'));
  const instance = vmi({ uid: node.uid(), pods: [pod.uid] });
  for (const kubeletDirectory of [link, indirect]) {
    const mounter = node.mounter({ kubeletDirectory });
    t.match(await mounter.mount(instance), [
      {
        outcome: 'mounted',
        target: `${kubeletDirectory}/pods/${pod.uid}/volumes/kubernetes.io~empty-dir/container-disks/disk_0.img`,
      },
    ]);
    t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
  }
  const mounter = node.mounter({
    hostRoot: node.directories.root,
    kubeletDirectory: '/var/lib/kubelet',
  });
  t.match(await mounter.mount(instance), [{ outcome: 'mounted' }], 'with another root');
  t.strictSame(node.mounts(), [join(emptyDir, 'disk_0.img')]);
});

t.test('several active pods are no guess', { skip }, async (t) => {
  const node = new TestNode(t);
  const [one, two] = [node.pod(), node.pod()];
  one.emptyDir('container-disks');
  two.emptyDir('container-disks');
  const instance = vmi({ uid: node.uid(), pods: [one.uid, two.uid] });
  await t.rejects(node.mounter().mount(instance), {
    code: 'ENOTREADY',
    message: /several active pods on this node/,
  });
  const none = vmi({ uid: node.uid(), pods: [node.uid()] });
  await t.rejects(node.mounter().mount(none), {
    code: 'ENOTREADY',
    message: /no launcher pod with a directory/,
  });
});
