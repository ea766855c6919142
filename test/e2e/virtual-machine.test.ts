import { chownSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { qemu } from '../../scripts/demo/container.ts';
import { skipUnless } from '../support/requirements.ts';
import { data, extra, follow } from './machine/guide.ts';
import { mounted, succeeds } from './machine/mounted.ts';
import { ephemeralDisks, hotplugDisks } from './machine/paths.ts';
import { type Pods, podsOfAMachine } from './machine/pods.ts';
import { mebibyte, printed } from './machine/printed.ts';
import { VirtualMachine } from './machine/virtual-machine.ts';
import { whatIsLeft } from './machine/what-is-left.ts';

const tools = ['unshare', 'setpriv', 'losetup', 'g++', 'qemu', 'qemu-img'] as const;
const skip = skipUnless('root', 'cgroup2 mount', 'cloud kernel', ...tools);

/** Mounts, and boots a machine from what was mounted. */
async function boot(t: Test, pods: Pods, cleanup: AsyncDisposableStack) {
  const mounter = mounted(t, pods);
  const machine = cleanup.use(await VirtualMachine.start(pods.launcher));
  await machine.qmp.execute('cont');
  await machine.console.line(/^ready$/);
  return { machine, mounter };
}

t.test('a virtual machine', { skip }, async (t) => {
  await using cleanup = new AsyncDisposableStack();
  const pods = await podsOfAMachine(cleanup);
  const { node, pod, launcher, device } = pods;
  const rules = launcher.rules();
  const { machine, mounter } = await boot(t, pods, cleanup);
  const { qmp, console } = machine;

  await t.test('boots the kernel and the disk that were mounted', async (t) => {
    const status = machine.status();
    t.equal(status.get('Uid'), String(qemu), 'QEMU runs as uid 107');
    t.match(status.get('CapEff'), /^0+$/, 'it has no capability');
    t.equal(status.get('NoNewPrivs'), '1', 'it can get none');

    const disk = printed('root', pods.root, 'rw');
    t.ok(await console.line(disk), "the guest's sum is that of the content");
    const image = join(node.directories.image('root'), 'disk/root.qcow2');
    const before = readFileSync(image);
    console.send('write root written by the guest');
    t.ok(await console.line(/^wrote root$/), 'the overlay takes what it writes');
    t.ok(readFileSync(image).equals(before), 'the container disk stays as it is');
  });

  // A node of the device that uid 107 may open, as far as the pod's cgroup lets it.
  const ownNode = join(pod.emptyDir('ephemeral-disks'), 'data');
  device.makeNode(ownNode);
  chownSync(ownNode, qemu, qemu);
  const openOwnNode = async () => {
    const blockdev = { driver: 'host_device', filename: `${ephemeralDisks}/data` };
    await qmp.execute('blockdev-add', { 'node-name': 'own', ...blockdev });
    await qmp.execute('blockdev-del', { 'node-name': 'own' });
  };
  const hasNoAccess = async (t: Test) => {
    await t.rejects(openOwnNode(), { message: /Operation not permitted/ }, 'the device');
    await t.rejects(follow(qmp, data.in), { message: /No such file/ }, 'its node');
    await t.rejects(follow(qmp, extra.in), { message: /No such file/ }, 'the container disk');
  };

  await t.test('has no access to what is hotplugged later', hasNoAccess);

  await t.test('takes a container disk while it runs', async (t) => {
    mounter.write(pods.vmi.hotplugged);
    succeeds(t, mounter, 'mount');
    const writable = { driver: 'file', filename: `${hotplugDisks}/extra.img` };
    await t.rejects(
      qmp.execute('blockdev-add', { 'node-name': 'writable', ...writable }),
      { message: /Read-only file system/ },
      'its mount is read-only',
    );
    await follow(qmp, extra.in);
    t.ok(await console.line(printed('extra', pods.extra, 'ro')), 'the guest reads it');
    console.send('write extra text');
    const answer = await console.line(/^(wrote|refused) extra.*/);
    t.match(answer[0], /^refused /, 'the guest cannot write to it');
    t.ok(readFileSync(join(node.directories.image('extra'), 'disk/disk.img')).equals(pods.extra));
  });

  await t.test('takes a block device while it runs', async (t) => {
    await openOwnNode();
    await follow(qmp, data.in);
    t.ok(await console.line(printed('data', pods.data, 'rw')), 'the guest reads it');
    const text = 'written by the guest';
    console.send(`write data ${text}`);
    t.ok(await console.line(/^wrote data$/), 'the guest writes to it');
    const expected = Buffer.from(pods.data);
    expected.write(text, mebibyte);
    t.ok(readFileSync(pods.dataFile).equals(expected), 'it is in the file behind the device');
  });

  await t.test('gives them back', async (t) => {
    const remove = qmp.execute('blockdev-del', { 'node-name': 'data' });
    await t.rejects(remove, { message: /in use/ }, 'not as long as the guest has it');
    await follow(qmp, data.out);
    t.ok(await console.line(/^gone data$/), 'the guest sees the block device go');
    await follow(qmp, extra.out);
    t.ok(await console.line(/^gone extra$/), 'the guest sees the container disk go');
    mounter.write(pods.vmi.plain);
    succeeds(t, mounter, 'unmount');
    t.strictSame(readdirSync(pod.emptyDir('hotplug-disks')), [], 'nothing is in the pod');
    t.equal(launcher.rules(), rules, "the rules of the pod's devices are what they were");
    await hasNoAccess(t);
  });

  await t.test('is turned off, and nothing is left', async (t) => {
    console.send('off');
    t.equal(await machine.ended(), 0, 'QEMU ends');
    succeeds(t, mounter, 'unmount', '--all');
    t.strictSame(node.mounts(), [node.directories.kubelet], 'no mount but the shared directory');
    t.strictSame(readdirSync(mounter.stateDirectory), [], 'no record');
    await cleanup.disposeAsync();
    t.strictSame(whatIsLeft(node, launcher), []);
  });
});

t.test('a run that unmounts too early, and fails', { skip }, async (t) => {
  const failure = new Error('failed');
  await using cleanup = new AsyncDisposableStack();
  const pods = await podsOfAMachine(cleanup);
  const fail = async () => {
    await using _all = cleanup;
    const { machine, mounter } = await boot(t, pods, cleanup);
    mounter.write(pods.vmi.hotplugged);
    succeeds(t, mounter, 'mount');
    for (const disk of [extra, data]) await follow(machine.qmp, disk.in);
    await machine.console.line(printed('data', pods.data, 'rw'));
    mounter.write(pods.vmi.plain);
    succeeds(t, mounter, 'unmount');
    machine.console.send('write data text');
    t.ok(await machine.console.line(/^wrote data$/), 'what QEMU has open stays open');
    mounter.write(pods.vmi.hotplugged);
    succeeds(t, mounter, 'mount');
    throw failure;
  };
  await t.rejects(fail(), failure);
  t.strictSame(whatIsLeft(pods.node, pods.launcher), [], 'all the same nothing is left');
});
