import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { MountThread } from '../../src/kernel/mount-thread.ts';
import { O_PATH } from '../../src/kernel/open-flags.ts';
import { statx } from '../../src/kernel/statx.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const skip = skipUnless('root', 'unshare');
const attributes = { readOnly: true, nosuid: true, nodev: true, noexec: true };

/** A process in a mount namespace of its own, in which a tmpfs with a file is mounted that nobody else sees. */
async function elsewhere(t: Test, directory: string) {
  const script = 'mount -t tmpfs private "$1"; echo secret > "$1/file"; echo up; exec sleep 600';
  const child = spawn('unshare', ['--mount', 'sh', '-ec', script, 'sh', directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

t.test('a file out of another mount namespace', { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  const hidden = join(directory, 'hidden');
  mkdirSync(hidden);
  writeFileSync(join(directory, 'target'), '');
  const pid = await elsewhere(t, hidden);
  t.strictSame(readdirSync(hidden), [], 'it is not seen here');
  await using thread = new MountThread();
  using home = Descriptor.open('/proc/self/ns/mnt', constants.O_RDONLY);
  using there = Descriptor.open(`/proc/${pid}/ns/mnt`, constants.O_RDONLY);
  const own = { fd: home.number, path: 'own' };
  const foreign = { fd: there.number, path: 'foreign' };
  using source = Descriptor.open(`/proc/${pid}/root${hidden}/file`, O_PATH);
  using target = Descriptor.open(join(directory, 'target'), O_PATH);

  const job = {
    from: foreign,
    source: { fd: source.number, path: '/file' },
    attributes,
    to: own,
    target: { fd: target.number, path: 'target' },
  };
  await t.rejects(
    thread.transfer({ ...job, from: own }),
    { code: 'EINVAL', syscall: 'open_tree', path: '/file' },
    'the file is not of that namespace',
  );
  using mount = await thread.transfer(job);
  t.teardown(() => spawnSync('umount', ['-l', join(directory, 'target')]));
  t.equal(readFileSync(join(directory, 'target'), 'utf8'), 'secret\n');
  t.throws(() => writeFileSync(join(directory, 'target'), 'x'), { code: 'EROFS' });
  const options = execFileSync('findmnt', ['-n', '-o', 'VFS-OPTIONS', join(directory, 'target')], {
    encoding: 'utf8',
  });
  t.match(options, /^ro,nosuid,nodev,noexec/);
  t.equal(statSync(join(directory, 'target')).ino, Number(statx(source.number).ino));

  const namespaces = readdirSync('/proc/self/task').map((task) =>
    readlinkSync(`/proc/self/task/${task}/ns/mnt`),
  );
  t.equal(new Set(namespaces).size, 1, 'the thread has come home');

  using root = Descriptor.open(join(directory, 'target'), O_PATH);
  await thread.detach(own, root.number, 'target');
  t.equal(readFileSync(join(directory, 'target'), 'utf8'), '');
  await t.rejects(thread.detach(own, target.number, 'target'), {
    code: 'EINVAL',
    syscall: 'umount2',
    path: 'target',
  });
  await t.rejects(
    thread.transfer({ ...job, to: foreign }),
    { code: 'EINVAL', syscall: 'move_mount', path: 'target' },
    'nor is the target',
  );
  for (const end of ['from', 'to'] as const) {
    await t.rejects(
      thread.transfer({ ...job, [end]: { fd: target.number, path: 'no namespace' } }),
      { code: 'EBADF', syscall: 'setns', path: 'no namespace' },
    );
  }
  t.equal(readFileSync(join(directory, 'target'), 'utf8'), '', 'nothing is mounted');
  t.ok(mount.number > 0);
});

t.test('by a bind mount, for kernels without open_tree', { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  for (const name of ['source', 'stage', 'target']) writeFileSync(join(directory, name), name);
  await using thread = new MountThread();
  using home = Descriptor.open('/proc/self/ns/mnt', constants.O_RDONLY);
  using source = Descriptor.open(join(directory, 'source'), O_PATH);
  using target = Descriptor.open(join(directory, 'target'), O_PATH);
  const own = { fd: home.number, path: 'own' };
  await thread.bind(
    own,
    source.number,
    join(directory, 'stage'),
    target.number,
    attributes,
    'target',
  );
  t.teardown(() => spawnSync('umount', ['-l', join(directory, 'target')]));
  t.equal(readFileSync(join(directory, 'target'), 'utf8'), 'source');
  t.equal(readFileSync(join(directory, 'stage'), 'utf8'), 'stage', 'nothing is left on the stage');
  t.throws(() => writeFileSync(join(directory, 'target'), 'x'), { code: 'EROFS' });
  const options = execFileSync('findmnt', ['-n', '-o', 'VFS-OPTIONS', join(directory, 'target')], {
    encoding: 'utf8',
  });
  t.match(options, /^ro,nosuid,nodev,noexec/);
});

t.test('a process ends while the thread is idle', { skip }, async (t) => {
  const module = (name: string) =>
    JSON.stringify(join(import.meta.dirname, '../../src/kernel', name));
  const script = `
    import { openSync } from 'node:fs';
    import { MountThread } from ${module('mount-thread.ts')};
    const thread = new MountThread();
    const fd = openSync('/proc/self/ns/mnt');
    await thread.detach({ fd, path: 'own' }, fd, 'x').catch((error) => console.log(error.code));`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  t.equal(status, 0);
  t.equal(stdout, 'EINVAL\n');
});

t.test('what needs no call of libc does not load the foreign functions', async (t) => {
  const modules = [
    'mountinfo.ts',
    'fdinfo.ts',
    'descriptor.ts',
    'cgroup.ts',
    'syscall-error.ts',
  ].map(
    (name) =>
      `await import(${JSON.stringify(join(import.meta.dirname, '../../src/kernel', name))});`,
  );
  const script = `${modules.join('')} console.log(Object.keys(process.report.getReport().sharedObjects).length, process.report.getReport().sharedObjects.some((name) => name.includes('koffi')))`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  t.match(stdout, /^\d+ false$/m);
});
