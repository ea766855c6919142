import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const tenant = 107;
const content = 'disk'.repeat(1000);

/** A launcher pod with two container disks, of which the first has a place that is not as it has to be. */
async function launcher(t: Test) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  await node.sidecar(node.image('disk', { 'disk/disk.img': content }), emptyDir, [
    'disk_0',
    'disk_1',
  ]);
  const volumes = [0, 1].map((index) => ({ name: `disk-${index}`, containerDisk: {} }));
  const instance = vmi({ uid: node.uid(), pods: [pod.uid], volumes });
  return { node, emptyDir, instance, mounter: node.mounter() };
}

/** What can be told of a place without following it. */
function shapeOf(path: string): object {
  const { mode, uid, gid, size, ino, nlink } = lstatSync(path);
  return { mode, uid, gid, size, ino, nlink };
}

t.test('a place where something else is already', { skip }, async (t) => {
  const { node, emptyDir, instance, mounter } = await launcher(t);
  const target = join(emptyDir, 'disk_0.img');
  const victim = join(node.directories.root, 'victim');
  writeFileSync(victim, '');
  const cases: Record<string, () => void> = {
    'a link to a file of the host': () => symlinkSync(victim, target),
    'a link that leads nowhere': () => symlinkSync('/nowhere/at/all', target),
    'a link to its own directory': () => symlinkSync('.', target),
    'a directory': () => mkdirSync(target),
    'a directory with something in it': () => {
      mkdirSync(target);
      writeFileSync(join(target, 'file'), '');
    },
    'a named pipe': () => execFileSync('mkfifo', [target]),
    'a device': () => execFileSync('mknod', [target, 'c', '1', '3']),
    "a tenant's file": () => {
      writeFileSync(target, 'precious');
      chownSync(target, tenant, tenant);
    },
    "a tenant's empty file": () => {
      writeFileSync(target, '');
      chownSync(target, tenant, tenant);
    },
    "root's file with something in it": () => writeFileSync(target, 'precious'),
    'a file that has another name too': () => linkSync(victim, target),
  };
  for (const [name, put] of Object.entries(cases)) {
    await t.test(name, async (t) => {
      put();
      const before = shapeOf(target);
      const mounted = await mounter.mount(instance);
      t.match(mounted, [
        { volume: 'disk-0', outcome: 'failed', error: { code: 'EHOSTILE' } },
        { volume: 'disk-1', outcome: 'mounted' },
      ]);
      const [report] = mounted;
      t.match(report, { error: { message: target } }, 'the message has the whole path');
      t.comment(report?.outcome === 'failed' ? report.error.message : '');
      t.strictSame(node.mounts(), [join(emptyDir, 'disk_1.img')], 'nothing is hidden');
      t.strictSame(shapeOf(target), before, 'it is as it was');
      await mounter.unmount(instance, { all: true });
      t.strictSame(shapeOf(target), before, 'also after unmount');
      t.strictSame(node.mounts(), []);
      t.strictSame(readdirSync(node.stateDirectory), []);
      t.strictSame(shapeOf(victim).constructor, Object);
      rmSync(target, { recursive: true });
    });
  }

  await t.test('a mount of something else', async (t) => {
    const other = join(node.directories.root, 'other');
    writeFileSync(other, 'other');
    writeFileSync(target, '');
    execFileSync('mount', ['--bind', other, target]);
    t.match(await mounter.mount(instance), [
      { volume: 'disk-0', outcome: 'failed', error: { code: 'EHOSTILE', message: target } },
      { volume: 'disk-1', outcome: 'mounted' },
    ]);
    t.equal(readFileSync(target, 'utf8'), 'other', 'it is not hidden');
    t.equal(node.mounts().length, 2);
    t.match(await mounter.unmount(instance), [], 'what the spec has stays');
    await mounter.unmount(instance, { all: true });
    t.strictSame(node.mounts(), [], 'at the end of the machine all goes');
    t.equal(readFileSync(other, 'utf8'), 'other');
    rmSync(target, { force: true });
  });
});

t.test('the directory of kernel boot', { skip }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  await node.sidecar(node.image('boot', { vmlinuz: 'kernel', initrd: 'initrd' }), emptyDir, [
    'kernel-boot',
  ]);
  const instance = vmi({
    uid: node.uid(),
    pods: [pod.uid],
    volumes: [],
    spec: {
      domain: {
        firmware: {
          kernelBoot: { container: { kernelPath: '/vmlinuz', initrdPath: '/initrd' } },
        },
      },
    },
  });
  const mounter = node.mounter();
  const directory = join(emptyDir, 'kernel-boot');
  const elsewhere = join(node.directories.root, 'elsewhere');
  mkdirSync(elsewhere);

  for (const [name, put] of Object.entries({
    'is a link': () => symlinkSync(elsewhere, directory),
    'is a file': () => writeFileSync(directory, ''),
  })) {
    await t.test(name, async (t) => {
      put();
      const before = shapeOf(directory);
      t.match(await mounter.mount(instance), [
        {
          volume: 'kernel-boot',
          outcome: 'failed',
          error: { code: 'EHOSTILE', message: directory },
        },
      ]);
      await mounter.unmount(instance, { all: true });
      t.strictSame(readdirSync(elsewhere), []);
      t.strictSame(shapeOf(directory), before);
      rmSync(directory, { recursive: true });
    });
  }

  await t.test('is made so that QEMU gets through it, whatever the umask', async (t) => {
    const umask = process.umask(0o077);
    try {
      t.match(await mounter.mount(instance), [{ outcome: 'mounted' }, { outcome: 'mounted' }]);
    } finally {
      process.umask(umask);
    }
    t.equal(statSync(directory).mode & 0o7777, 0o755);
    t.equal(statSync(directory).uid, 0);
    const seen = execFileSync(
      'setpriv',
      ['--reuid=107', '--regid=107', '--clear-groups', 'cat', 'vmlinuz'],
      { cwd: directory, encoding: 'utf8' },
    );
    t.equal(seen, 'kernel');
    await mounter.unmount(instance, { all: true });
    t.notOk(existsSync(directory));
  });
});

/** Programs of a tenant that is in the way, in the emptyDir, all the time. */
const swappers = {
  'a link for the place': `
    for (;;) for (const to of ['../../../../../../../../victim', 'disk_1.img', '.']) {
      try { fs.symlinkSync(to, 'swap'); fs.renameSync('swap', 'disk_0.img'); } catch {}
      try { fs.rmSync('disk_0.img', { force: true }); } catch {}
      try { fs.rmSync('swap', { force: true }); } catch {}
    }`,
  'another name for the place': `
    for (let count = 0; ; count = (count + 1) % 3) {
      try { fs.renameSync('disk_0.img', 'moved-' + count); } catch {}
      try { fs.rmSync('moved-' + count); } catch {}
    }`,
};

for (const [name, program] of Object.entries(swappers)) {
  t.test(`a tenant that swaps ${name}`, { skip }, async (t) => {
    const { node, emptyDir, instance, mounter } = await launcher(t);
    writeFileSync(join(node.directories.root, 'victim'), 'victim');
    const script = `const fs = require('node:fs');${program}`;
    // By its descriptor, and without tap's NODE_OPTIONS, as a repository below /root is closed to a tenant.
    using executable = Descriptor.open(process.execPath, constants.O_RDONLY);
    const swapper = spawn(
      'setpriv',
      [
        ...['--reuid=107', '--regid=107', '--clear-groups'],
        ...['env', '-i', '/proc/self/fd/3', '-e', script],
      ],
      { stdio: ['ignore', 'ignore', 'ignore', executable.number], cwd: emptyDir },
    );
    const ended = once(swapper, 'close');
    t.teardown(() => swapper.kill('SIGKILL'));
    const outcomes = new Set<string>();
    const start = performance.now();
    const passed = () => performance.now() - start;
    // On a busy machine it may take a while until it has been in the way.
    while (passed() < 2000 || (!outcomes.has('failed') && passed() < 60_000)) {
      const [report] = await mounter.mount(instance);
      outcomes.add(report?.outcome ?? '');
      const points = node.mounts();
      if (report?.outcome === 'failed') {
        t.strictSame(points, [join(emptyDir, 'disk_1.img')], 'what failed is not mounted');
      }
      for (const point of points) {
        t.ok(point.startsWith(`${emptyDir}/`), `${point} is in the emptyDir`);
      }
      await mounter.unmount(instance, { all: true });
      t.strictSame(node.mounts(), [], 'nothing is left, whatever it is called');
    }
    swapper.kill('SIGKILL');
    const [, signal] = await ended;
    t.equal(signal, 'SIGKILL', 'it swapped to the end');
    t.ok(outcomes.has('failed'), [...outcomes].join(', '));
  });
}
