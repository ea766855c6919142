import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
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
const content = 'volume'.repeat(1000);

/** A persistent volume with a file system of its own, mounted on the node as the kubelet does. */
function persistentVolume(t: Test, node: TestNode, name: string): string {
  const directory = join(node.directories.root, 'persistent', name);
  mkdirSync(directory, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', name, directory]);
  t.teardown(() => execFileSync('umount', ['-l', directory]));
  return directory;
}

/** A launcher pod, and an attachment pod that holds `hp.sock` and has the volumes mounted. */
async function hotplug(t: Test, volumes: readonly string[], emptyDirName = 'hotplug-disks') {
  const node = new TestNode(t);
  const [launcher, attachment] = [node.pod(), node.pod()];
  launcher.emptyDir('container-disks');
  const targets = launcher.emptyDir('hotplug-disks');
  const sources = Object.fromEntries(
    volumes.map((name) => {
      const directory = persistentVolume(t, node, name);
      writeFileSync(join(directory, 'disk.img'), content, { mode: 0o600 });
      return [name, directory];
    }),
  );
  const mounts = volumes.map((name) => ({ source: sources[name] ?? '', destination: `/${name}` }));
  const process = await node.sidecar(
    node.image('attachment', { 'etc/.empty': '' }),
    attachment.emptyDir(emptyDirName),
    ['hp'],
    mounts,
  );
  const uid = node.uid();
  const claim = (name: string) => ({
    name,
    persistentVolumeClaim: { claimName: name, hotpluggable: true },
  });
  const status = (name: string, more: object = {}) => ({
    name,
    hotplugVolume: { attachPodName: 'hp', attachPodUID: attachment.uid },
    persistentVolumeClaimInfo: { volumeMode: 'Filesystem' },
    ...more,
  });
  const instance = (
    names: readonly string[],
    more: { spec?: object; status?: object; statuses?: object[] } = {},
  ) =>
    vmi({
      uid,
      pods: [launcher.uid],
      volumes: names.map(claim),
      spec: more.spec ?? {},
      status: {
        volumeStatus: [...names.map((name) => status(name)), ...(more.statuses ?? [])],
        ...more.status,
      },
    });
  /** Mounts of the mounter, without the volumes' own. */
  const mounted = () => node.mounts().filter((point) => !point.includes('/persistent/'));
  return {
    node,
    launcher,
    attachment,
    targets,
    sources,
    instance,
    status,
    uid,
    mounted,
    process,
    mounter: node.mounter(),
  };
}

t.test('a volume with a file system', { skip }, async (t) => {
  for (const emptyDirName of ['hotplug-disks', 'hp-disks']) {
    t.test(`in and out again, hp.sock in ${emptyDirName}`, async (t) => {
      const { targets, sources, instance, mounted, mounter } = await hotplug(
        t,
        ['data'],
        emptyDirName,
      );
      t.match(await mounter.mount(instance(['data'])), [
        { volume: 'data', kind: 'hotplugVolume', outcome: 'mounted', source: '/data/disk.img' },
      ]);
      const target = join(targets, 'data.img');
      t.equal(readFileSync(target, 'utf8'), content);
      t.match(statSync(target), { uid: 107, gid: 107, mode: 0o100600 });
      const asQemu = ['--reuid=107', '--regid=107', '--clear-groups', 'sh', '-c'];
      execFileSync(
        'setpriv',
        [...asQemu, `printf written | dd of=/proc/self/fd/3 conv=notrunc status=none`],
        {
          stdio: ['ignore', 'ignore', 'inherit', (await import('node:fs')).openSync(target, 'r+')],
        },
      );
      t.match(readFileSync(join(sources['data'] ?? '', 'disk.img'), 'utf8'), /^written/);
      const options = execFileSync('findmnt', ['-n', '-o', 'VFS-OPTIONS', target], {
        encoding: 'utf8',
      });
      t.match(options, /^rw,nosuid,nodev,noexec/);
      t.match(await mounter.mount(instance(['data'])), [{ outcome: 'already mounted' }]);
      t.match((await mounter.list()).hotplugged, [{ volume: 'data', type: 'file', target }]);

      t.strictSame(await mounter.unmount(instance(['data'])), [], 'the spec has it still');
      t.match(await mounter.unmount(instance([])), [{ volume: 'data', outcome: 'unmounted' }]);
      t.strictSame(mounted(), []);
      t.strictSame(readdirSync(targets), [], 'the emptyDir stays, empty');
      t.match(readFileSync(join(sources['data'] ?? '', 'disk.img'), 'utf8'), /^written/);
    });
  }

  t.test('a volume in status that has left the spec is not mounted again', async (t) => {
    const { instance, status, mounted, mounter } = await hotplug(t, ['data', 'gone']);
    const reports = await mounter.mount(instance(['data'], { statuses: [status('gone')] }));
    t.match(reports, [{ volume: 'data' }]);
    t.equal(reports.length, 1);
    t.equal(mounted().length, 1);
  });

  t.test('a memory dump and a utility volume are directories', async (t) => {
    const { targets, sources, instance, status, mounted, mounter } = await hotplug(t, [
      'dump',
      'tools',
    ]);
    const wanted = instance([], {
      spec: {
        volumes: [{ name: 'dump', memoryDump: { claimName: 'dump', hotpluggable: true } }],
        utilityVolumes: [{ name: 'tools', claimName: 'tools' }],
      },
      statuses: [status('dump', { memoryDumpVolume: {} }), status('tools')],
    });
    const reports = await mounter.mount(wanted);
    t.strictSame(
      reports.map(({ volume, outcome }) => [volume, outcome]),
      [
        ['dump', 'mounted'],
        ['tools', 'mounted'],
      ],
      JSON.stringify(reports),
    );
    writeFileSync(join(targets, 'dump/memory.dump'), 'memory');
    t.equal(readFileSync(join(sources['dump'] ?? '', 'memory.dump'), 'utf8'), 'memory');
    t.match((await mounter.list()).hotplugged, [
      { volume: 'dump', type: 'directory' },
      { volume: 'tools', type: 'directory' },
    ]);
    t.equal((await mounter.unmount(instance([]))).length, 2);
    t.strictSame(mounted(), []);
    t.strictSame(readdirSync(targets), []);
  });

  t.test('a target directory that is read-only', async (t) => {
    const { targets, instance, status, mounter } = await hotplug(t, ['dump']);
    const wanted = instance([], {
      spec: { volumes: [{ name: 'dump', memoryDump: { claimName: 'dump', hotpluggable: true } }] },
      statuses: [status('dump', { memoryDumpVolume: {} })],
    });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'emptydir', targets]);
    t.match(await mounter.mount(wanted), [
      {
        outcome: 'failed',
        error: { message: `read-only file system, mkdir '${join(targets, 'dump')}'` },
      },
    ]);
  });

  t.test('links never leave the volume', async (t) => {
    const { sources, instance, mounted, mounter } = await hotplug(t, ['data']);
    const disk = join(sources['data'] ?? '', 'disk.img');
    for (const [link, code] of [
      ['/etc/passwd', 'EDISK'],
      ['../../../../etc/passwd', 'EDISK'],
      ['/proc/self/root/etc/passwd', 'EDISK'],
    ] as const) {
      unlinkSync(disk);
      symlinkSync(link, disk);
      t.match(
        await mounter.mount(instance(['data'])),
        [{ outcome: 'failed', error: { code } }],
        link,
      );
      t.strictSame(mounted(), []);
    }
    unlinkSync(disk);
    mkdirSync(disk);
    t.match(await mounter.mount(instance(['data'])), [
      { outcome: 'failed', error: { message: /not a regular file, but a directory/ } },
    ]);
  });

  t.test('what the pod has mounted over the disk is not given away', async (t) => {
    const { node, sources, process: attachment, ...rest } = await hotplug(t, ['data']);
    const { instance, mounted, mounter } = rest;
    const other = join(node.directories.root, 'other');
    writeFileSync(other, content);
    // The container has no mount(8): with that of the host, in its mount namespace, before its root is taken.
    const root = readlinkSync(`/proc/${attachment.pid}/root`);
    const disk = join(root, 'data/disk.img');
    execFileSync('nsenter', [
      `--target=${attachment.pid}`,
      '--mount',
      'mount',
      '--bind',
      other,
      disk,
    ]);
    t.match(await mounter.mount(instance(['data'])), [
      { outcome: 'failed', error: { code: 'EDISK', message: /EXDEV/ } },
    ]);
    t.equal(statSync(other).uid, 0);
    t.equal(statSync(join(sources['data'] ?? '', 'disk.img')).uid, 0);
    t.strictSame(mounted(), []);
  });

  t.test('a mount of the container’s own is no volume', async (t) => {
    const { node, targets, instance, status, mounter } = await hotplug(t, ['data']);
    // The program itself is mounted at /usr/bin in these pods.
    const binaries = join(node.directories.root, 'binaries');
    const before = statSync(binaries);
    const wanted = instance([], {
      spec: { volumes: [{ name: 'bin', memoryDump: { claimName: 'bin', hotpluggable: true } }] },
      statuses: [status('bin', { memoryDumpVolume: {} })],
    });
    t.match(await mounter.mount(wanted), [
      {
        outcome: 'failed',
        error: { code: 'ENOTREADY', message: /has no mount of the volume bin/ },
      },
    ]);
    t.strictSame(readdirSync(targets), []);
    t.equal(statSync(binaries).uid, before.uid);
  });

  t.test('what is not there yet', async (t) => {
    const { instance, uid, launcher, node, mounter } = await hotplug(t, ['data']);
    t.match(await mounter.mount(instance(['other'])), [
      {
        volume: 'other',
        outcome: 'failed',
        error: { code: 'ENOTREADY', message: /has no mount of the volume other/ },
      },
    ]);
    const noPod = vmi({
      uid,
      pods: [launcher.uid],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c', hotpluggable: true } }],
    });
    t.match(await mounter.mount(noPod), [
      { outcome: 'failed', error: { message: /no attachPodUID for the volume data yet/ } },
    ]);
    t.match(await mounter.mount(noPod, { sourcePod: node.uid() }), [
      { outcome: 'failed', error: { code: 'ENOTREADY', message: /no socket .*hp\.sock yet/ } },
    ]);
  });

  t.test('one failure keeps no other from being tried', async (t) => {
    const { targets, sources, instance, mounter, mounted } = await hotplug(t, [
      'one',
      'two',
      'three',
    ]);
    unlinkSync(join(sources['two'] ?? '', 'disk.img'));
    const reports = await mounter.mount(instance(['one', 'two', 'three']));
    t.strictSame(reports.map(({ volume, outcome }) => [volume, outcome]).sort(), [
      ['one', 'mounted'],
      ['three', 'mounted'],
      ['two', 'failed'],
    ]);
    t.strictSame(readdirSync(targets).sort(), ['one.img', 'three.img']);
    t.equal(
      (await mounter.unmount(instance([]))).filter(({ outcome }) => outcome === 'unmounted').length,
      2,
    );
    t.strictSame(mounted(), []);
  });

  t.test('the attachment pod ends before the volume is taken out', async (t) => {
    const { targets, instance, mounted, process, mounter } = await hotplug(t, ['data']);
    await mounter.mount(instance(['data']));
    process.kill('SIGKILL');
    await process.exit;
    t.equal(
      readFileSync(join(targets, 'data.img'), 'utf8'),
      content,
      'the virtual machine reads on',
    );
    t.match(await mounter.unmount(instance([])), [{ outcome: 'unmounted' }]);
    t.strictSame(mounted(), []);
  });
});

t.test('migration', { skip }, async (t) => {
  t.test('from the target’s attachment pod', async (t) => {
    const { node, attachment, instance, mounter } = await hotplug(t, ['data']);
    const elsewhere = {
      volumeStatus: [{ name: 'data', hotplugVolume: { attachPodUID: node.uid() } }],
    };
    const target = {
      migrationState: { targetNode: 'this-node', targetAttachmentPodUID: attachment.uid },
    };
    t.match(
      await mounter.mount(instance(['data'], { status: elsewhere })),
      [{ outcome: 'failed' }],
      'the source’s pod is not here',
    );
    t.match(await mounter.mount(instance(['data'], { status: { ...elsewhere, ...target } })), [
      { outcome: 'mounted' },
    ]);
    const all = instance(['data'], { status: { ...elsewhere, ...target } });
    t.match(
      await mounter.unmount(all, { all: true }),
      [{ outcome: 'unmounted' }],
      'a failed migration leaves nothing',
    );
  });

  t.test('--source-pod', async (t) => {
    const { node, attachment, instance, mounter } = await hotplug(t, ['data']);
    const elsewhere = {
      volumeStatus: [{ name: 'data', hotplugVolume: { attachPodUID: node.uid() } }],
    };
    const wanted = instance(['data'], { status: elsewhere });
    t.match(await mounter.mount(wanted, { sourcePod: attachment.uid }), [{ outcome: 'mounted' }]);
  });
});

t.test('container disks of an attachment pod', { skip }, async (t) => {
  const node = new TestNode(t);
  const [launcher, attachment] = [node.pod(), node.pod()];
  launcher.emptyDir('container-disks');
  const targets = launcher.emptyDir('hotplug-disks');
  const sockets = attachment.emptyDir('hotplug-container-disks');
  const image = node.image('disks', {
    'disk/one.img': 'one'.repeat(999),
    'disk/two.img': 'two'.repeat(999),
  });
  // One process holds the sockets of both volumes.
  await node.sidecar(image, sockets, ['hotplug-container-disk-one', 'hotplug-container-disk-two']);
  const volume = (name: string) => ({
    name,
    containerDisk: {
      image: 'registry.example/disks',
      path: `/disk/${name}.img`,
      hotpluggable: true,
    },
  });
  const uid = node.uid();
  const instance = (...names: string[]) =>
    vmi({
      uid,
      pods: [launcher.uid],
      volumes: names.map(volume),
      status: {
        volumeStatus: names.map((name) => ({
          name,
          hotplugVolume: { attachPodUID: attachment.uid },
        })),
      },
    });
  const mounter = node.mounter();
  t.match(await mounter.ready(instance('one', 'two')), [{ ready: true }, { ready: true }]);
  t.match(await mounter.mount(instance('one', 'two')), [
    { volume: 'one', kind: 'hotplugContainerDisk', outcome: 'mounted', disk: { format: 'raw' } },
    { volume: 'two', outcome: 'mounted' },
  ]);
  t.equal(readFileSync(join(targets, 'one.img'), 'utf8'), 'one'.repeat(999));
  t.equal(readFileSync(join(targets, 'two.img'), 'utf8'), 'two'.repeat(999));
  t.throws(() => writeFileSync(join(targets, 'two.img'), 'x'), { code: 'EROFS' });
  t.match((await mounter.list()).hotplugged, [
    { volume: 'one', type: 'file' },
    { volume: 'two', type: 'file' },
  ]);
  t.match(await mounter.unmount(instance('two')), [{ volume: 'one', outcome: 'unmounted' }]);
  t.strictSame(readdirSync(targets), ['two.img']);
  t.match(await mounter.unmount(instance()), [{ volume: 'two', outcome: 'unmounted' }]);
  t.strictSame(node.mounts(), []);
});
