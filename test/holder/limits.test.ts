import { execFileSync } from 'node:child_process';
import { chownSync, copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Container, type ContainerMount, qemu } from '../../scripts/demo/container.ts';
import { knock, program } from '../support/holder.ts';
import { MemoryCgroup } from '../support/memory-cgroup.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MiB = 1024 * 1024;

/** What virt-controller asks for: memory 40M. */
const limit = 40_000_000;

/** An image with nothing but the program, and an emptyDir that uid 107 can write. */
function pod(t: import('tap').Test) {
  const directory = temporaryDirectory(t);
  const image = join(directory, 'image');
  const emptyDir = join(directory, 'container-disks');
  mkdirSync(join(image, 'usr/bin'), { recursive: true });
  mkdirSync(emptyDir, { mode: 0o777 });
  chownSync(emptyDir, qemu, qemu);
  copyFileSync(program, join(image, 'usr/bin/container-disk'));
  const start = (
    argv: readonly string[],
    prefix: readonly string[] = [],
    mounts: readonly ContainerMount[] = [{ source: emptyDir, destination: '/disks' }],
  ) => {
    const scratch = join(directory, `scratch-${Math.random()}`);
    const container = new Container({
      image,
      scratch,
      argv: ['/usr/bin/container-disk', ...argv],
      mounts,
      prefix,
    });
    t.teardown(() => container[Symbol.asyncDispose]());
    return container;
  };
  return { directory, emptyDir, start };
}

const skip = skipUnless('root', 'unshare', 'setpriv');

t.test('in an empty, read-only root as uid 107 without capabilities', { skip }, async (t) => {
  const { emptyDir, start } = pod(t);
  const init = start(['--no-op']);
  t.equal(await init.exit, 0, init.stderr);
  t.equal(init.stdout + init.stderr, '');

  const failing = start(['--copy-path', '/root-is-read-only/disk_0']);
  t.equal(await failing.exit, 1);
  t.match(failing.stderr, /cannot make the directory \/root-is-read-only: read-only file system/);

  const sidecar = start(['--copy-path', '/disks/disk_0']);
  const socket = join(emptyDir, 'disk_0.sock');
  while (!readdirSync(emptyDir).includes('disk_0.sock')) {
    if (sidecar.ended) throw new Error(sidecar.stderr);
    await sleep(1);
  }
  t.equal(await knock(socket), 'accepted');
  t.match(lstatSync(socket), { uid: qemu, gid: qemu });
  const status = readFileSync(`/proc/${sidecar.pid}/status`, 'utf8');
  t.match(status, /^Uid:\t107\t107\t107\t107$/m);
  t.match(status, /^CapEff:\t0+$/m);
  t.match(status, /^CapPrm:\t0+$/m);
  t.match(status, /^NoNewPrivs:\t1$/m);
  t.match(status, /^NSpid:\t\d+\t1$/m, 'it is the first process of its pid namespace');
  sidecar.kill('SIGTERM');
  t.equal(await sidecar.exit, 0, sidecar.stderr);
  t.strictSame(readdirSync(emptyDir), []);
});

t.test('under a memory limit of 40M', { skip }, async (t) => {
  const { emptyDir, start } = pod(t);
  const cgroup = new MemoryCgroup(t, limit);
  const init = start(['--no-op'], cgroup.command);
  t.equal(await init.exit, 0, init.stderr);

  const sidecar = start(['--copy-path', '/disks/disk_0'], cgroup.command);
  const socket = join(emptyDir, 'disk_0.sock');
  while (!readdirSync(emptyDir).includes('disk_0.sock')) {
    if (sidecar.ended) throw new Error(sidecar.stderr);
    await sleep(1);
  }

  for (let count = 0; count < 2000; count += 1) await knock(socket);
  const status = readFileSync(`/proc/${sidecar.pid}/status`, 'utf8');
  const anonymous = Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  const threads = Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1]);
  t.comment(`anonymous memory ${(anonymous / MiB).toFixed(1)} MiB, ${threads} threads`);
  t.ok(anonymous > 0 && anonymous <= 12 * MiB, `anonymous memory: ${anonymous} bytes`);
  t.ok(threads > 0 && threads <= 3, `${threads} threads`);
  t.equal(cgroup.oomKills, 0);
});

t.test('the copy step under 40M, from a read-only root', { skip }, async (t) => {
  const { directory, start } = pod(t);
  const cgroup = new MemoryCgroup(t, limit);
  const bin = join(directory, 'virt-bin-share-dir');
  mkdirSync(bin);
  chownSync(bin, qemu, qemu);
  const mounts = [{ source: bin, destination: '/init/usr/bin' }];
  for (const expected of ['copied', 'unchanged']) {
    const init = start(['copy', '/init/usr/bin/container-disk'], cgroup.command, mounts);
    t.equal(await init.exit, 0, `${expected}: ${init.stderr}`);
  }
  t.strictSame(readdirSync(bin), ['container-disk']);
  execFileSync('cmp', [program, join(bin, 'container-disk')]);
  t.equal(cgroup.oomKills, 0);
});

t.test('a start from disk reads what it needs, in a few steps', { skip }, async (t) => {
  const { directory, start } = pod(t);
  const copy = join(directory, 'image/usr/bin/container-disk');
  execFileSync('sync', [copy]);
  // The first start brings what starts it into memory, which is not what is counted.
  t.equal(await start(['--no-op']).exit, 0);
  execFileSync('dd', [`if=${copy}`, 'iflag=nocache', 'count=0', 'status=none']);
  const cgroup = new MemoryCgroup(t, 10 * limit);
  const init = start(['--no-op'], cgroup.command);
  t.equal(await init.exit, 0, init.stderr);
  // Without its advice to the kernel it is one or the other, by how much the disk reads ahead.
  t.ok(cgroup.majorFaults < 100, `${cgroup.majorFaults} major faults`);
  t.ok(cgroup.peak < 60 * MiB, `${(cgroup.peak / MiB).toFixed(0)} MiB`);
});
