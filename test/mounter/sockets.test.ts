import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { PodCgroup } from '../../scripts/demo/pod-cgroup.ts';
import { manifest, TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { abandonedSocket, type Fate } from '../support/socket-holder.ts';
import { tampering } from '../support/tampering.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

/** A launcher pod with two disks; what is wrong is with the first. */
async function launcher(t: Test) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const image = node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) });
  await node.sidecar(image, emptyDir, ['disk_1']);
  const volumes = [0, 1].map((index) => ({ name: `disk-${index}`, containerDisk: {} }));
  const fields = { uid: node.uid(), pods: [pod.uid], volumes };
  const socket = join(emptyDir, 'disk_0.sock');
  return { node, emptyDir, image, socket, fields, instance: vmi(fields), uid: pod.uid };
}

/** The first disk is refused for a reason that names its socket, the second is mounted. */
async function refused(
  t: Test,
  { node, emptyDir, socket, instance }: Awaited<ReturnType<typeof launcher>>,
  { code, message }: { code: string; message: RegExp },
) {
  const mounter = node.mounter({ timeout: 3000 });
  const [report, other] = await mounter.mount(instance);
  t.match(report, { volume: 'disk-0', outcome: 'failed', error: { code, message } });
  t.match(report, { error: { message: socket } });
  t.match(other, { volume: 'disk-1', outcome: 'mounted' }, 'the other disk is mounted');
  const [ready] = await mounter.ready(instance);
  t.match(ready, { volume: 'disk-0', ready: false, reason: message });
  t.strictSame(node.mounts(), [join(emptyDir, 'disk_1.img')]);
  t.match(await mounter.unmount(instance, { all: true }), [{ outcome: 'unmounted' }]);
  t.notOk(readdirSync(emptyDir).includes('disk_0.img'));
}

t.test('what is at the socket’s path', { skip }, async (t) => {
  const pod = await launcher(t);
  const { socket } = pod;
  for (const [name, put, code, message] of [
    ['nothing', () => {}, 'ENOTREADY', /no socket .* yet/],
    ['a link', () => symlinkSync('disk_1.sock', socket), 'EHOSTILE', /is a link, not a socket/],
    ['a file', () => writeFileSync(socket, ''), 'EHOSTILE', /is a regular file, not a socket/],
    ['a directory', () => mkdirSync(socket), 'EHOSTILE', /is a directory, not a socket/],
    [
      'a named pipe',
      () => spawnSync('mkfifo', [socket]),
      'EHOSTILE',
      /is a named pipe, not a socket/,
    ],
  ] as const) {
    await t.test(name, async (t) => {
      put();
      await refused(t, pod, { code, message });
      rmSync(socket, { recursive: true, force: true });
    });
  }
});

t.test(
  'who is behind the socket',
  { skip: skipUnless('root', 'unshare', 'setpriv', 'cgroup2 mount') },
  async (t) => {
    const pod = await launcher(t);
    const { node, emptyDir, image, socket, instance, uid } = pod;

    await t.test('a sidecar that dies between ready and mount', async (t) => {
      const container = await node.sidecar(image, emptyDir, ['disk_0']);
      t.match(await node.mounter().ready(instance), [{ ready: true }, { ready: true }]);
      container.kill('SIGKILL');
      await container.exit;
      await refused(t, pod, { code: 'EDEAD', message: /nobody listens on .* has ended/ });
      unlinkSync(socket);
    });

    const fates: Record<Exclude<Fate, 'full'>, string> = {
      gone: 'a process that has ended, its child has the socket',
      zombie: 'the same, and nobody has waited for it',
      reused: 'the same, and its pid is another process’s now',
    };
    for (const fate of Object.keys(fates) as (keyof typeof fates)[]) {
      await t.test(fates[fate], async (t) => {
        await abandonedSocket(t, socket, fate);
        await refused(t, pod, { code: 'EDEAD', message: /has ended/ });
        unlinkSync(socket);
      });
    }

    await t.test('a process that accepts nothing: waited for, and not for ever', async (t) => {
      await abandonedSocket(t, socket, 'full');
      const start = performance.now();
      await refused(t, pod, {
        code: 'ETIMEDOUT',
        message: /has accepted no connection for \d+ ms/,
      });
      t.ok(performance.now() - start < 15_000);
      unlinkSync(socket);
    });

    await t.test('a container of another pod', async (t) => {
      const container = await node.sidecar(image, emptyDir, ['disk_0']);
      const other = new PodCgroup('v2', randomUUID());
      t.teardown(() => other[Symbol.asyncDispose]());
      other.write('cgroup.procs', String(container.pid));
      await refused(t, pod, {
        code: 'EHOSTILE',
        message: /is in a container of pod [-0-9a-f]{36}/,
      });
      const own = new PodCgroup('v2', uid);
      t.teardown(() => own[Symbol.asyncDispose]());
      own.write('cgroup.procs', String(container.pid));
      t.match(await node.mounter().ready(instance), [{ ready: true }, { ready: true }]);
      container.kill('SIGTERM');
      await container.exit;
    });

    await t.test('a process of the host', async (t) => {
      const server = createServer();
      const directory = process.cwd();
      process.chdir(emptyDir);
      await new Promise<void>((resolve) => server.listen('disk_0.sock', resolve));
      process.chdir(directory);
      t.teardown(() => server.close());
      await refused(t, pod, { code: 'EHOSTILE', message: /on the host.*not in a container/ });
    });
  },
);

t.test('seen from another pid namespace', { skip }, async (t) => {
  const { node, fields } = await launcher(t);
  const file = join(node.directories.root, 'vmi.json');
  writeFileSync(file, JSON.stringify(manifest(fields)));
  const { status, stderr } = spawnSync(
    'unshare',
    [
      ...['--pid', '--fork', '--mount-proc', process.execPath, command],
      ...node.arguments,
      ...['mount', '-f', file],
    ],
    { encoding: 'utf8' },
  );
  t.equal(status, 1);
  t.match(stderr, /disk_1\.sock has pid 0 here: .*hostPID: true/);
  t.strictSame(node.mounts(), []);
});

t.test(
  'a sidecar that ends between the record and the mount',
  { skip: skipUnless('root', 'unshare', 'setpriv', 'strace') },
  async (t) => {
    const { node, emptyDir, image, socket, fields } = await launcher(t);
    const file = join(node.directories.root, 'vmi.json');
    writeFileSync(file, JSON.stringify(manifest(fields)));
    const container = await node.sidecar(image, emptyDir, ['disk_0']);
    const delayed = spawn(
      'strace',
      [
        ...tampering('fsync:delay_enter=1000000:when=1'),
        ...[process.execPath, command, ...node.arguments, 'mount', '-f', file],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let stderr = '';
    delayed.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = once(delayed, 'close');
    const unfinished = join(node.stateDirectory, `${fields.uid}.json.new`);
    while (!existsSync(unfinished)) await sleep(5);
    container.kill('SIGKILL');
    await container.exit;
    const [status] = await ended;
    t.equal(status, 1);
    t.match(stderr, /^container-disk-mounter: error: disk-0: .*process \d+ has ended/);
    t.match(stderr, socket, 'and whose process it was');
    t.strictSame(node.mounts(), [join(emptyDir, 'disk_1.img')], 'the other disk is mounted');
    await node.mounter().unmount(vmi(fields), { all: true });
    t.strictSame(readdirSync(emptyDir).sort(), ['disk_0.sock', 'disk_1.sock']);
  },
);
