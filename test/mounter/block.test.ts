import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  type AllowedDevice,
  callingProgram,
  deviceProgram,
  longProgram,
} from '../../scripts/demo/device-program.ts';
import { LoopDevice } from '../../scripts/demo/loop-device.ts';
import { hasDeviceCgroups, PodCgroup } from '../../scripts/demo/pod-cgroup.ts';
import {
  attachDeviceProgram,
  BPF_F_ALLOW_MULTI,
  BPF_F_ALLOW_OVERRIDE,
  queryDevicePrograms,
  replaceDeviceProgram,
} from '../../src/kernel/bpf-cgroup.ts';
import { loadDeviceProgram, openProgram, programInfo } from '../../src/kernel/bpf-program.ts';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'losetup', 'cgroup2 mount');

/** A loop device with content of its own. */
function loopDevice(t: Test, node: TestNode, name: string) {
  const file = join(node.directories.root, `${name}.raw`);
  const content = randomBytes(1024 * 1024);
  writeFileSync(file, content);
  const device = new LoopDevice(file);
  t.teardown(() => device[Symbol.dispose]());
  return Object.assign(device, { content });
}

/** A pod's cgroup, which goes with the test. */
function podCgroup(t: Test, version: 'v1' | 'v2', podUID: string): PodCgroup {
  const cgroup = new PodCgroup(version, podUID);
  t.teardown(() => cgroup[Symbol.asyncDispose]());
  return cgroup;
}

/** A launcher pod with virt-launcher in a cgroup of its own, and an attachment pod with block volumes. */
async function blockVolumes(t: Test, version: 'v1' | 'v2', names: readonly string[]) {
  const node = new TestNode(t);
  const [launcher, attachment] = [node.pod(), node.pod()];
  launcher.emptyDir('container-disks');
  const targets = launcher.emptyDir('hotplug-disks');
  // As on a node, what is below is for the pod's user; the temporary folder is not.
  chmodSync(node.directories.root, 0o755);
  const cgroup = podCgroup(t, version, launcher.uid);
  const socket = launcher.emptyDir('sockets');
  await virtLauncher(t, cgroup, socket);
  const directory = attachment.emptyDir('hotplug-disks');
  const devices = Object.fromEntries(
    names.map((name) => {
      const device = loopDevice(t, node, name);
      mkdirSync(join(directory, name));
      execFileSync('mknod', [
        join(directory, name, 'device'),
        'b',
        String(device.major),
        String(device.minor),
      ]);
      return [name, device] as const;
    }),
  );
  const uid = node.uid();
  const instance = (...wanted: string[]) =>
    vmi({
      uid,
      pods: [launcher.uid],
      volumes: wanted.map((name) => ({
        name,
        persistentVolumeClaim: { claimName: name, hotpluggable: true },
      })),
      status: {
        volumeStatus: wanted.map((name) => ({
          name,
          hotplugVolume: { attachPodUID: attachment.uid },
          persistentVolumeClaimInfo: { volumeMode: 'Block' },
        })),
      },
    });
  const device = (name: string) => devices[name] ?? never();
  return {
    node,
    launcher,
    attachment,
    targets,
    cgroup,
    device,
    instance,
    directory,
    mounter: node.mounter(),
  };
}

function never(): never {
  throw new Error('no such device');
}

/** What virt-launcher is to the mounter: a process in the pod's cgroup that listens on launcher-sock. */
async function virtLauncher(t: Test, cgroup: PodCgroup, directory: string) {
  const script =
    "process.chdir(process.argv[1]); require('net').createServer().listen('launcher-sock', () => console.log('up'))";
  const [command = '', ...rest] = [...cgroup.command, process.execPath, '-e', script, directory];
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

/** Attaches a device program to a cgroup, as a runtime does. */
function attach(directory: string, program: Buffer, flags: number): void {
  using cgroup = Descriptor.open(directory, 0);
  using loaded = loadDeviceProgram(program);
  attachDeviceProgram(cgroup.number, loaded.number, flags);
}

/** The instructions of what is attached to a cgroup, in order. */
function attached(directory: string): string[] {
  using cgroup = Descriptor.open(directory, 0);
  return queryDevicePrograms(cgroup.number).ids.map((id) => {
    using program = openProgram(id);
    return programInfo(program.number).instructions?.toString('hex') ?? '';
  });
}

const nullDevice: AllowedDevice = { type: 'c', major: 1, minor: 3 };

t.test('cgroup v2', { skip }, async (t) => {
  t.test('a device is allowed, used, and refused again', async (t) => {
    const { node, targets, cgroup, device, instance, mounter } = await blockVolumes(t, 'v2', [
      'data',
      'other',
      'never',
    ]);
    const other = device('other');
    const base = deviceProgram([nullDevice, { type: 'b', major: other.major, minor: other.minor }]);
    attach(cgroup.container, base, BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    const nodes = Object.fromEntries(
      ['data', 'other', 'never'].map((name) => [name, join(node.directories.root, `node-${name}`)]),
    );
    for (const [name, path] of Object.entries(nodes)) {
      execFileSync('mknod', [
        '-m',
        '666',
        path,
        'b',
        String(device(name).major),
        String(device(name).minor),
      ]);
    }
    const access = () =>
      Object.entries(nodes).map(([name, path]) => `${name} ${cgroup.open(path)}`);
    t.strictSame(access(), [
      'data Operation not permitted',
      'other opened',
      'never Operation not permitted',
    ]);

    t.match(await mounter.mount(instance('data')), [
      { volume: 'data', outcome: 'mounted', source: new RegExp(`block ${device('data').number}`) },
    ]);
    const target = join(targets, 'data');
    const status = statSync(target);
    t.ok(status.isBlockDevice());
    t.match(status, {
      uid: 107,
      gid: 107,
      rdev: statSync(device('data').path).rdev,
      mode: 0o60660,
    });
    t.equal(cgroup.open(target), 'opened');
    t.ok(readFileSync(target).equals(device('data').content));
    t.strictSame(
      access(),
      ['data opened', 'other opened', 'never Operation not permitted'],
      'the others stay as they were',
    );
    t.match((await mounter.list()).hotplugged, [
      { volume: 'data', type: 'block', device: device('data').number, rule: 'in force' },
    ]);

    t.match(await mounter.mount(instance('data')), [{ outcome: 'already mounted' }]);
    t.match(await mounter.unmount(instance()), [{ volume: 'data', outcome: 'unmounted' }]);
    t.strictSame(access(), [
      'data Operation not permitted',
      'other opened',
      'never Operation not permitted',
    ]);
    t.strictSame(attached(cgroup.container), before, 'the program is what it was, byte for byte');
    t.notOk(existsSync(target));
    t.strictSame(readdirSync(node.stateDirectory), []);
  });

  t.test(
    'two programs at once, one of the pod’s own cgroup, and one that is replaced in between',
    async (t) => {
      const { targets, cgroup, device, instance, mounter } = await blockVolumes(t, 'v2', ['data']);
      attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
      attach(
        cgroup.container,
        deviceProgram([nullDevice, { type: 'c', major: 1, minor: 5 }]),
        BPF_F_ALLOW_MULTI,
      );
      attach(cgroup.pod, deviceProgram([nullDevice, { type: 'c', major: 1 }]), BPF_F_ALLOW_MULTI);
      const before = [...attached(cgroup.container), ...attached(cgroup.pod)];
      t.equal(before.length, 3);
      await mounter.mount(instance('data'));
      const target = join(targets, 'data');
      t.equal(cgroup.open(target), 'opened');

      // A runtime that updates the container writes its program anew.
      using directory = Descriptor.open(cgroup.container, 0);
      const [first = 0] = queryDevicePrograms(directory.number).ids;
      using old = openProgram(first);
      using fresh = loadDeviceProgram(deviceProgram([nullDevice]));
      replaceDeviceProgram(directory.number, fresh.number, old.number);
      t.equal(cgroup.open(target), 'Operation not permitted');
      t.match((await mounter.list()).hotplugged, [{ rule: 'missing' }]);
      t.match(
        await mounter.mount(instance('data')),
        [{ outcome: 'mounted' }],
        'it is asserted again',
      );
      t.equal(cgroup.open(target), 'opened');
      await mounter.unmount(instance());
      t.strictSame([...attached(cgroup.container), ...attached(cgroup.pod)], before);
      t.equal(device('data').major, 7);
    },
  );

  for (const [name, flags] of [
    ['alone', 0],
    ['that may be overridden', BPF_F_ALLOW_OVERRIDE],
  ] as const) {
    t.test(`a program that is attached ${name}`, async (t) => {
      const { targets, cgroup, instance, mounter } = await blockVolumes(t, 'v2', ['data']);
      attach(cgroup.container, deviceProgram([nullDevice]), flags);
      const before = attached(cgroup.container);
      await mounter.mount(instance('data'));
      t.equal(cgroup.open(join(targets, 'data')), 'opened');
      t.equal(attached(cgroup.container).length, 1);
      await mounter.unmount(instance());
      t.strictSame(attached(cgroup.container), before);
    });
  }

  t.test('no program: everything is allowed, nothing is done', async (t) => {
    const { targets, cgroup, instance, mounter } = await blockVolumes(t, 'v2', ['data']);
    t.match(await mounter.mount(instance('data')), [{ outcome: 'mounted' }]);
    t.strictSame(attached(cgroup.container), []);
    t.equal(cgroup.open(join(targets, 'data')), 'opened');
    await mounter.unmount(instance());
  });

  t.test('several devices, withdrawn in another order', async (t) => {
    const names = ['one', 'two', 'three'];
    const { targets, cgroup, instance, mounter } = await blockVolumes(t, 'v2', names);
    attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    await mounter.mount(instance(...names));
    for (const name of names) t.equal(cgroup.open(join(targets, name)), 'opened');
    t.match(await mounter.unmount(instance('one', 'three')), [{ volume: 'two' }]);
    t.equal(cgroup.open(join(targets, 'one')), 'opened');
    t.match(await mounter.unmount(instance('three')), [{ volume: 'one' }]);
    t.equal(cgroup.open(join(targets, 'three')), 'opened');
    await mounter.unmount(instance(), { all: true });
    t.strictSame(attached(cgroup.container), before);
  });

  t.test('at the limit of the kernel: a clear error, nothing half done', async (t) => {
    const { targets, cgroup, instance, mounter } = await blockVolumes(t, 'v2', ['data']);
    attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    attach(cgroup.container, longProgram(524_285), BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    t.match(await mounter.mount(instance('data')), [
      {
        outcome: 'failed',
        error: {
          code: 'ECGROUP',
          message:
            /cannot change the devices of .*compute for "b 7:\d+ rwm": its program would be longer than the kernel takes, or shows/,
        },
      },
    ]);
    t.ok(
      attached(cgroup.container).every((program, index) => program === before[index]),
      'both programs are what they were',
    );
    t.notOk(existsSync(join(targets, 'data')), 'no node');
  });

  t.test('a program that cannot be loaded again is left as it is', async (t) => {
    const { cgroup, instance, mounter } = await blockVolumes(t, 'v2', ['data']);
    attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    attach(cgroup.container, callingProgram(), BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    t.match(await mounter.mount(instance('data')), [
      {
        outcome: 'failed',
        error: {
          code: 'ECGROUP',
          message: /its program \d+ cannot be loaded again: it calls a function/,
        },
      },
    ]);
    t.strictSame(attached(cgroup.container), before);
  });

  t.test('as many as come: 300 devices in one program', async (t) => {
    const { cgroup, device, launcher, node } = await blockVolumes(t, 'v2', ['data']);
    attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    const { DeviceFilter } = await import('../../src/mounter/devices/device-filter.ts');
    using filter = new DeviceFilter(cgroup.container);
    for (let minor = 1000; minor < 1300; minor += 1) filter.allow({ type: 'b', major: 259, minor });
    const { major, minor } = device('data');
    filter.allow({ type: 'b', major, minor });
    const path = join(node.directories.root, 'n');
    execFileSync('mknod', ['-m', '666', path, 'b', String(major), String(minor)]);
    t.equal(cgroup.open(path), 'opened');
    filter.withdraw({ type: 'b', major, minor });
    for (let number = 1000; number < 1300; number += 1)
      filter.withdraw({ type: 'b', major: 259, minor: number });
    t.equal(cgroup.open(path), 'Operation not permitted');
    t.strictSame(attached(cgroup.container), before);
    t.ok(launcher.uid);
  });

  t.test('two mounters at once on one cgroup', async (t) => {
    const { cgroup } = await blockVolumes(t, 'v2', []);
    attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    const module = join(import.meta.dirname, '../../src/mounter/devices/device-filter.ts');
    const script = (start: number) => `
      import { DeviceFilter } from ${JSON.stringify(module)};
      const filter = new DeviceFilter(${JSON.stringify(cgroup.container)});
      for (let minor = ${start}; minor < ${start + 50}; minor += 1) filter.allow({ type: 'b', major: 259, minor });
      for (let minor = ${start}; minor < ${start + 50}; minor += 1) filter.withdraw({ type: 'b', major: 259, minor });`;
    const runs = [1000, 2000].map(
      (start) =>
        new Promise((resolve) => {
          spawn(process.execPath, ['--input-type=module', '-e', script(start)], {
            stdio: 'inherit',
          }).once('close', resolve);
        }),
    );
    t.strictSame(await Promise.all(runs), [0, 0]);
    t.strictSame(attached(cgroup.container), before);
  });
});

t.test(
  'cgroup v1',
  { skip: skip || (hasDeviceCgroups('v1') ? false : 'no v1 devices controller is mounted') },
  async (t) => {
    t.test('devices.list before, during and after', async (t) => {
      const { targets, cgroup, device, instance, mounter } = await blockVolumes(t, 'v1', [
        'data',
        'other',
      ]);
      cgroup.write('devices.deny', 'a');
      for (const rule of ['c 1:3 rwm', 'c 5:* rw', `b ${device('other').number} r`])
        cgroup.write('devices.allow', rule);
      const before = cgroup.read('devices.list');
      t.match(await mounter.mount(instance('data')), [{ outcome: 'mounted' }]);
      t.equal(cgroup.read('devices.list'), `${before}b ${device('data').number} rwm\n`);
      t.equal(cgroup.open(join(targets, 'data')), 'opened');
      t.match((await mounter.list()).hotplugged, [{ rule: 'in force' }]);
      t.match(await mounter.mount(instance('data')), [{ outcome: 'already mounted' }]);
      await mounter.unmount(instance());
      t.equal(cgroup.read('devices.list'), before);
    });

    t.test('what was allowed before stays allowed', async (t) => {
      for (const rule of ['b 7:* rwm', undefined]) {
        const { cgroup, device, instance, mounter } = await blockVolumes(t, 'v1', ['data']);
        cgroup.write('devices.deny', 'a');
        cgroup.write('devices.allow', 'c 1:3 rwm');
        cgroup.write('devices.allow', rule ?? `b ${device('data').number} rwm`);
        const before = cgroup.read('devices.list');
        await mounter.mount(instance('data'));
        t.equal(cgroup.read('devices.list'), before);
        await mounter.mount(instance('data'));
        await mounter.unmount(instance());
        t.equal(cgroup.read('devices.list'), before);
      }
    });

    t.test('a part of the access that was there before stays', async (t) => {
      const { targets, cgroup, device, instance, mounter } = await blockVolumes(t, 'v1', ['data']);
      cgroup.write('devices.deny', 'a');
      cgroup.write('devices.allow', 'c 1:3 rwm');
      cgroup.write('devices.allow', `b ${device('data').number} r`);
      const before = cgroup.read('devices.list');
      for (let count = 0; count < 2; count += 1) await mounter.mount(instance('data'));
      t.equal(cgroup.read('devices.list'), before.replace(/ r$/m, ' rwm'));
      t.equal(cgroup.open(join(targets, 'data')), 'opened');
      await mounter.unmount(instance());
      t.equal(cgroup.read('devices.list'), before);
    });

    t.test('what was allowed before, and then was not any more, is ours', async (t) => {
      const { cgroup, device, instance, mounter } = await blockVolumes(t, 'v1', ['data']);
      const rule = `b ${device('data').number} rwm`;
      cgroup.write('devices.deny', 'a');
      cgroup.write('devices.allow', 'c 1:3 rwm');
      const without = cgroup.read('devices.list');
      cgroup.write('devices.allow', rule);
      await mounter.mount(instance('data'));
      cgroup.write('devices.deny', rule);
      t.match(await mounter.mount(instance('data')), [{ outcome: 'mounted' }]);
      t.equal(cgroup.read('devices.list'), `${without}${rule}\n`);
      await mounter.unmount(instance());
      t.equal(cgroup.read('devices.list'), without);
    });

    t.test('a rule that something reset is asserted again', async (t) => {
      const { cgroup, device, instance, mounter, targets } = await blockVolumes(t, 'v1', ['data']);
      cgroup.write('devices.deny', 'a');
      cgroup.write('devices.allow', 'c 1:3 rwm');
      const before = cgroup.read('devices.list');
      await mounter.mount(instance('data'));
      cgroup.write('devices.deny', `b ${device('data').number} rwm`);
      t.match((await mounter.list()).hotplugged, [{ rule: 'missing' }]);
      t.match(await mounter.mount(instance('data')), [{ outcome: 'mounted' }]);
      t.equal(cgroup.open(join(targets, 'data')), 'opened');
      await mounter.unmount(instance());
      t.equal(cgroup.read('devices.list'), before);
    });
  },
);

for (const version of ['v1', 'v2'] as const) {
  const isThere = hasDeviceCgroups(version) ? false : `no device cgroups of ${version} here`;
  /** The devices that the cgroup lets its processes use, to be compared. */
  const rules = (cgroup: PodCgroup) =>
    version === 'v1' ? cgroup.read('devices.list') : attached(cgroup.container).join();
  const deny = (cgroup: PodCgroup) => {
    if (version === 'v2')
      return attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    cgroup.write('devices.deny', 'a');
    cgroup.write('devices.allow', 'c 1:3 rwm');
  };

  t.test(`a pod that hides its cgroup, ${version}`, { skip: skip || isThere }, async (t) => {
    const { node, launcher, cgroup, instance, mounter, targets } = await blockVolumes(t, version, [
      'data',
    ]);
    deny(cgroup);
    const before = rules(cgroup);
    await mounter.mount(instance('data'));
    t.not(rules(cgroup), before);
    // As the pod can: the node by another name, and the socket gone that leads to its cgroup.
    linkSync(join(targets, 'data'), join(targets, 'KEEP_me'));
    rmSync(join(launcher.emptyDir('sockets'), 'launcher-sock'));
    t.match(await mounter.unmount(instance()), [{ volume: 'data', outcome: 'unmounted' }]);
    t.equal(rules(cgroup), before, 'the rule is withdrawn all the same');
    t.equal(cgroup.open(join(targets, 'KEEP_me')), 'Operation not permitted');
    t.strictSame(readdirSync(node.stateDirectory), []);
  });

  t.test(`two volumes on one device, ${version}`, { skip: skip || isThere }, async (t) => {
    const { cgroup, directory, device, instance, mounter, targets } = await blockVolumes(
      t,
      version,
      ['one'],
    );
    mkdirSync(join(directory, 'two'));
    device('one').makeNode(join(directory, 'two/device'));
    deny(cgroup);
    const before = rules(cgroup);
    await mounter.mount(instance('one', 'two'));
    t.match(await mounter.unmount(instance('two')), [{ volume: 'one', outcome: 'unmounted' }]);
    t.equal(cgroup.open(join(targets, 'two')), 'opened', 'the other goes on');
    t.match(await mounter.unmount(instance()), [{ volume: 'two', outcome: 'unmounted' }]);
    t.equal(rules(cgroup), before);
    await mounter.mount(instance('one', 'two'));
    t.equal((await mounter.unmount(instance(), { all: true })).length, 2, 'both at once');
    t.equal(rules(cgroup), before);
  });
}

t.test('what is refused', { skip }, async (t) => {
  t.test('a cgroup that is not the pod’s', async (t) => {
    const { node, launcher, cgroup, instance, mounter } = await blockVolumes(t, 'v2', ['data']);
    const other = podCgroup(t, 'v2', node.uid());
    const socket = launcher.emptyDir('sockets');
    rmSync(join(socket, 'launcher-sock'));
    await virtLauncher(t, other, socket);
    attach(other.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    const before = attached(other.container);
    t.match(await mounter.mount(instance('data')), [
      {
        outcome: 'failed',
        error: {
          code: 'ECGROUP',
          message: new RegExp(`not in a device cgroup of pod ${launcher.uid}`),
        },
      },
    ]);
    t.strictSame(attached(other.container), before);
    t.ok(cgroup);
  });

  t.test('no device, two devices, a link to one, something else at the target', async (t) => {
    const { directory, targets, cgroup, device, instance, mounter } = await blockVolumes(t, 'v2', [
      'data',
    ]);
    const { major, minor } = device('data');
    execFileSync('mknod', [join(directory, 'data/second'), 'b', String(major), String(minor + 1)]);
    t.match(await mounter.mount(instance('data')), [
      { outcome: 'failed', error: { message: /exactly one block device, but has 2/ } },
    ]);
    rmSync(join(directory, 'data'), { recursive: true });
    mkdirSync(join(directory, 'data'));
    execFileSync('ln', ['-s', '/dev/loop0', join(directory, 'data/link')]);
    t.match(await mounter.mount(instance('data')), [
      { outcome: 'failed', error: { message: /exactly one block device, but has 0/ } },
    ]);
    t.match(await mounter.mount(instance('data', 'nothing')), [
      { volume: 'data' },
      { volume: 'nothing', outcome: 'failed', error: { code: 'ENOTREADY' } },
    ]);
    rmSync(join(directory, 'data/link'));
    execFileSync('mknod', [join(directory, 'data/device'), 'b', String(major), String(minor)]);
    writeFileSync(join(targets, 'data'), 'precious');
    attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    t.match(await mounter.mount(instance('data')), [
      {
        outcome: 'failed',
        error: { code: 'EHOSTILE', message: /something else is there, and is left as it is/ },
      },
    ]);
    t.equal(readFileSync(join(targets, 'data'), 'utf8'), 'precious');
    t.strictSame(attached(cgroup.container), before, 'the rule is withdrawn again');
  });

  t.test('a target directory that is read-only', async (t) => {
    const { targets, cgroup, instance, mounter } = await blockVolumes(t, 'v2', ['data']);
    attach(cgroup.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    const before = attached(cgroup.container);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'emptydir', targets]);
    t.match(await mounter.mount(instance('data')), [
      {
        outcome: 'failed',
        error: { message: `read-only file system, mknodat '${join(targets, 'data')}'` },
      },
    ]);
    t.strictSame(attached(cgroup.container), before, 'the rule is withdrawn again');
  });
});
