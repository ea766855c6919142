import { execFileSync } from 'node:child_process';
import {
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { tryLock } from '../../src/kernel/file-lock.ts';
import type { MounterEvent } from '../../src/mounter/run-context.ts';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');

async function launcher(t: Test) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  await node.sidecar(node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) }), emptyDir, [
    'disk_0',
  ]);
  const instance = vmi({ uid: node.uid(), pods: [pod.uid] });
  const events: MounterEvent[] = [];
  const mounter = node.mounter({ onEvent: (event) => events.push(event) });
  const record = join(node.stateDirectory, `${instance.uid}.json`);
  return { node, pod, emptyDir, instance, mounter, events, record };
}

t.test('records', { skip }, async (t) => {
  for (const [name, spoil] of [
    ['empty', () => ''],
    ['truncated', (text: string) => text.slice(0, text.length / 2)],
    ['of another version', (text: string) => text.replace('"version": 1', '"version": 2')],
    ['of something else', () => '[1, 2, 3]'],
    ['of another virtual machine', (text: string) => text.replace(/"uid": ".*"/, '"uid": "other"')],
    ['that leads elsewhere', (text: string) => text.replace('"container-disks"', '".."')],
  ] as const) {
    t.test(
      `one that is ${name} is set aside, and what is mounted is found by looking`,
      async (t) => {
        const { node, instance, mounter, events, record } = await launcher(t);
        await mounter.mount(instance);
        writeFileSync(record, spoil(readFileSync(record, 'utf8')));
        t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
        t.strictSame(node.mounts(), []);
        t.match(
          events.filter(({ level }) => level === 'warn'),
          [
            {
              message: new RegExp(
                `the record ${record} cannot be understood \\(.+\\): set aside as ${record}\\.broken-`,
              ),
            },
          ],
        );
        const left = readdirSync(node.stateDirectory);
        t.equal(left.length, 1);
        t.match(left[0], /\.json\.broken-\d+$/);
      },
    );
  }

  t.test('what is there instead of a record makes nobody wait', async (t) => {
    const { node, instance, mounter, record } = await launcher(t);
    mkdirSync(node.stateDirectory);
    for (const [what, put] of Object.entries({
      'a named pipe': () => execFileSync('mkfifo', [record]),
      'a directory': () => mkdirSync(record),
    })) {
      put();
      const refused = { code: 'ERECORD', message: `cannot read the record: ${record} is ${what}` };
      await t.rejects(mounter.mount(instance), refused);
      await t.rejects(mounter.unmount(instance, { all: true }), refused);
      t.match(await mounter.gc(), [{ outcome: 'failed', error: refused }]);
      rmSync(record, { recursive: true });
    }
    symlinkSync('/etc/passwd', record);
    await t.rejects(mounter.mount(instance), { code: 'ERECORD', message: /ELOOP/ });
    t.strictSame(node.mounts(), []);
  });

  t.test('the state directory is lost', async (t) => {
    const { node, instance, mounter, emptyDir } = await launcher(t);
    await mounter.mount(instance);
    rmSync(node.stateDirectory, { recursive: true });
    t.match(await mounter.mount(instance), [{ outcome: 'already mounted' }]);
    t.strictSame(readdirSync(node.stateDirectory).length, 2, 'it is recorded again, with its lock');
    rmSync(node.stateDirectory, { recursive: true });
    t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
    t.strictSame(node.mounts(), []);
    t.strictSame(readdirSync(emptyDir), ['disk_0.sock']);
  });

  t.test('a kubelet’s directory that is not there is no sign that pods are gone', async (t) => {
    const { node, instance, mounter, record } = await launcher(t);
    await mounter.mount(instance);
    const before = readFileSync(record, 'utf8');
    const astray = node.mounter({ kubeletDirectory: '/var/lib/kubelt' });
    const message =
      /no directory \/var\/lib\/kubelt\/pods below \/: is --kubelet-dir the kubelet's/;
    await t.rejects(astray.list(), { code: 'EUNSUPPORTED', message });
    await t.rejects(astray.mount(instance), { code: 'EUNSUPPORTED', message });
    t.match(await astray.gc().catch((error) => [{ outcome: 'failed', error }]), [
      { outcome: 'failed', error: { message } },
    ]);
    t.match(
      await astray
        .unmount(instance, { all: true })
        .catch((error) => [{ outcome: 'failed', error }]),
      [{ outcome: 'failed', error: { message } }],
    );
    t.equal(readFileSync(record, 'utf8'), before);
    t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
  });

  t.test('a virtual machine that names the pod of another', async (t) => {
    const { node, pod, instance, mounter } = await launcher(t);
    await mounter.mount(instance);
    const other = vmi({ uid: node.uid(), pods: [pod.uid], volumes: [] });
    t.strictSame(await mounter.unmount(other), []);
    t.strictSame(await mounter.unmount(other, { all: true }), []);
    t.equal(node.mounts().length, 1, 'what another has recorded stays');
  });

  t.test('gc waits for no lock that is held without a record', async (t) => {
    const { node, mounter } = await launcher(t);
    mkdirSync(node.stateDirectory, { recursive: true });
    const path = join(node.stateDirectory, 'busy.lock');
    using held = Descriptor.open(path, constants.O_RDWR | constants.O_CREAT);
    t.ok(tryLock(held, path));
    writeFileSync(join(node.stateDirectory, 'idle.lock'), '');
    const start = performance.now();
    t.strictSame(await mounter.gc(), []);
    t.ok(performance.now() - start < 3000);
    t.strictSame(readdirSync(node.stateDirectory), ['busy.lock']);
  });

  t.test('the state directory cannot be written', async (t) => {
    const { node, instance, mounter, events } = await launcher(t);
    await mounter.mount(instance);
    execFileSync('mount', ['--bind', node.stateDirectory, node.stateDirectory]);
    execFileSync('mount', ['-o', 'remount,bind,ro', node.stateDirectory]);
    await t.rejects(mounter.mount(instance), { code: 'ERECORD', message: /read-only file system/ });
    t.equal(node.mounts().length, 2, 'nothing is lost that is mounted');
    await t.rejects(mounter.unmount(instance, { all: true }), {
      code: 'ERECORD',
      message: /cannot remove the record .*read-only file system/,
    });
    t.match(
      events.slice(-2),
      [
        { level: 'warn', message: /cannot make the lock .*unmounting without it/ },
        { level: 'warn', message: /^unmounted .*\/disk_0\.img$/ },
      ],
      'what was done is told all the same',
    );
    t.strictSame(node.mounts(), [node.stateDirectory], 'and yet it is unmounted');
  });

  t.test('the disk is full', async (t) => {
    const { node, instance, mounter } = await launcher(t);
    mkdirSync(node.stateDirectory);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', node.stateDirectory]);
    await mounter.mount(instance);
    const record = join(node.stateDirectory, `${instance.uid}.json`);
    const before = readFileSync(record, 'utf8');
    t.throws(() => writeFileSync(join(node.stateDirectory, 'filler'), Buffer.alloc(100_000)), {
      code: 'ENOSPC',
    });
    const image = node.image('other', { 'disk/disk.img': 'other'.repeat(1000) });
    const emptyDir = join(
      node.directories.kubelet,
      'pods',
      [...instance.activePods.keys()][0] ?? '',
      'volumes/kubernetes.io~empty-dir/container-disks',
    );
    await node.sidecar(image, emptyDir, ['disk_1']);
    const more = vmi({
      uid: instance.uid,
      pods: [...instance.activePods.keys()],
      volumes: [
        { name: 'root', containerDisk: {} },
        { name: 'more', containerDisk: {} },
      ],
    });
    await t.rejects(mounter.mount(more), {
      code: 'ERECORD',
      message: /cannot write the record .*no space left on device/,
    });
    t.equal(readFileSync(record, 'utf8'), before, 'the record is as it was');
    t.equal(node.mounts().length, 2, 'and nothing new is mounted');
    t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
    t.strictSame(node.mounts(), [node.stateDirectory]);
    t.strictSame(readdirSync(node.stateDirectory), ['filler']);
  });
});
