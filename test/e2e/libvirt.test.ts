import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';
import { block, data, extra } from './machine/guide.ts';
import { Libvirt } from './machine/libvirt.ts';
import { mounted, succeeds } from './machine/mounted.ts';
import { podsOfAMachine } from './machine/pods.ts';
import { mebibyte, printed } from './machine/printed.ts';
import { whatIsLeft } from './machine/what-is-left.ts';

const tools = ['unshare', 'setpriv', 'losetup', 'g++', 'qemu', 'qemu-img', 'libvirt'] as const;
const skip = skipUnless('root', 'cgroup2 mount', 'cloud kernel', ...tools);

t.test('a domain of libvirt in the launcher pod', { skip }, async (t) => {
  await using cleanup = new AsyncDisposableStack();
  const pods = await podsOfAMachine(cleanup);
  const { node, pod, launcher } = pods;
  const mounter = mounted(t, pods);
  const libvirt = cleanup.use(await Libvirt.start(pods));
  const { console } = libvirt;
  libvirt.domain('resume');
  t.ok(await console.line(printed('root', pods.root, 'rw')), 'it boots from what was mounted');

  const attach = (disk: typeof data) => libvirt.domain('attach-device', block(disk.in, 'xml'));
  t.throws(() => attach(data), { message: /No such file/ }, 'nothing is there before');

  mounter.write(pods.vmi.hotplugged);
  succeeds(t, mounter, 'mount');
  attach(extra);
  t.ok(await console.line(printed('extra', pods.extra, 'ro')), 'the guest reads the disk');
  attach(data);
  t.ok(await console.line(printed('data', pods.data, 'rw')), 'the guest reads the device');
  console.send('write data text');
  t.ok(await console.line(/^wrote data$/), 'the guest writes to the device');
  const written = readFileSync(pods.dataFile).subarray(mebibyte, mebibyte + 4);
  t.equal(written.toString(), 'text', 'it is in the file behind the device');

  for (const [name, disk] of Object.entries({ data, extra })) {
    libvirt.domain('detach-device', block(disk.in, 'xml'));
    t.ok(await console.line(new RegExp(`^gone ${name}$`)), `the guest sees ${name} go`);
    t.notMatch(libvirt.domain('domblklist'), name);
  }
  mounter.write(pods.vmi.plain);
  succeeds(t, mounter, 'unmount');
  t.strictSame(readdirSync(pod.emptyDir('hotplug-disks')), [], 'nothing is in the pod');

  await cleanup.disposeAsync();
  t.strictSame(whatIsLeft(node, launcher), [], 'nothing is left of a machine that ran');
});
