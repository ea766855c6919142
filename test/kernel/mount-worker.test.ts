import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { MountThread } from '../../src/kernel/mount-thread.ts';
import { parseMountinfo } from '../../src/kernel/mountinfo.ts';
import { O_PATH } from '../../src/kernel/open-flags.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { tmpfs } from '../support/tmpfs.ts';

const skip = skipUnless('root', 'unshare');
const attributes = { readOnly: true, nosuid: true, nodev: true, noexec: true };
const kernel = (name: string) =>
  JSON.stringify(join(import.meta.dirname, '../../src/kernel', name));

/** Our own mount namespace, and another one that a process is in. */
async function namespaces(t: Test) {
  const child = spawn('unshare', ['--mount', 'sh', '-c', 'echo up; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const open = (path: string) => {
    const descriptor = Descriptor.open(path, constants.O_RDONLY);
    t.teardown(() => descriptor[Symbol.dispose]());
    return { fd: descriptor.number, path };
  };
  return {
    own: open('/proc/self/ns/mnt'),
    other: open(`/proc/${child.pid}/ns/mnt`),
    root: `/proc/${child.pid}/root`,
  };
}

function descriptorsTo(pattern: RegExp): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => {
      try {
        return pattern.test(readlinkSync(`/proc/self/fd/${fd}`));
      } catch {
        return false;
      }
    });
}

/** How many mount namespaces the threads of this process are in. */
function countNamespaces(): number {
  const links = readdirSync('/proc/self/task').flatMap((task) => {
    try {
      return readlinkSync(`/proc/self/task/${task}/ns/mnt`);
    } catch {
      return [];
    }
  });
  return new Set(links).size;
}

/** A file system of the test's own, which takes along what is mounted in it, with a file seen from elsewhere. */
async function files(t: Test, targets: number) {
  const directory = tmpfs(t, 'size=1m');
  for (const name of ['file', ...Array(targets).keys()])
    writeFileSync(join(directory, `${name}`), '');
  const { own, other, root } = await namespaces(t);
  const open = (path: string) => {
    const descriptor = Descriptor.open(path, O_PATH);
    t.teardown(() => descriptor[Symbol.dispose]());
    return { fd: descriptor.number, path };
  };
  return {
    here: open(join(directory, 'file')),
    job: {
      from: other,
      source: open(join(root, directory, 'file')),
      attributes,
      to: own,
    },
    target: (index: number) => open(join(directory, `${index}`)),
  };
}

t.test(
  'a thread that cannot come back ends, and the next job gets another',
  { skip },
  async (t) => {
    const { job, target } = await files(t, 3);
    await using thread = new MountThread();
    const before = new Set(descriptorsTo(/^mnt:/));
    (await thread.transfer({ ...job, target: target(0) }))[Symbol.dispose]();
    const [home = -1, ...others] = descriptorsTo(/^mnt:/).filter((fd) => !before.has(fd));
    t.strictSame(others, []);
    // What keeps setns(2) from the way back: the thread's descriptor is of something else.
    closeSync(home);
    t.equal(openSync('/', O_PATH), home);
    const failing = { ...job, target: target(1) };
    const mounts = descriptorsTo(/\/1$/).length;
    await t.rejects(thread.transfer(failing), {
      name: 'MountThreadError',
      code: 'ETHREAD',
      message: /^the thread for mounts has ended: .*it cannot come back to its own mount namespace/,
    });
    t.equal(descriptorsTo(/\/1$/).length, mounts, 'what it made is closed');
    const next = target(2);
    const [jobs, made] = [thread.transfer({ ...job, target: next }), descriptorsTo(/\/2$/).length];
    using mount = await jobs;
    t.equal(descriptorsTo(/\/2$/).length, made + 1);
    t.ok(mount.number > 0);
    t.equal(countNamespaces(), 1);
  },
);

t.test('many jobs at once, some of them fail', { skip }, async (t) => {
  const count = 300;
  const { here, job, target } = await files(t, count);
  await using thread = new MountThread();
  const jobs = Array.from({ length: count }, (_, index) => ({
    ...job,
    source: index % 3 === 0 ? { ...here, path: `file ${index}` } : job.source,
    target: target(index),
  }));
  const descriptors = readdirSync('/proc/self/fd').length;
  const results = await Promise.allSettled(jobs.map((each) => thread.transfer(each)));
  for (const [index, result] of results.entries()) {
    if (result.status === 'fulfilled') result.value[Symbol.dispose]();
    if ((result.status === 'rejected') !== (index % 3 === 0)) t.fail(`job ${index}`);
    if (result.status === 'rejected') {
      t.match(result.reason, { code: 'EINVAL', syscall: 'open_tree', path: `file ${index}` });
    }
  }
  t.equal(countNamespaces(), 1);
  // The thread itself has some.
  t.ok(readdirSync('/proc/self/fd').length < descriptors + 50, 'none of 200 is left open');
});

t.test('a mount hears nothing of what is mounted in the container later', { skip }, async (t) => {
  for (const method of ['transfer', 'bind'] as const) {
    const directory = temporaryDirectory(t);
    const setUp = `
      mount -t tmpfs base "$0"; mount --make-private "$0"; cd "$0"
      mkdir source target; for name in source target; do
        mount -t tmpfs $name $name; mount --make-shared $name; mkdir $name/volume
      done; mkdir stage`;
    const calls = {
      transfer: `{
        using mount = await thread.transfer({
          from: own, source: { fd: source.number, path: 'volume' }, attributes,
          to: own, target: { fd: target.number, path: 'volume' },
        });
      }`,
      bind: `await thread.bind(own, source.number, 'stage', target.number, attributes, 'volume');`,
    }[method];
    const script = `
      import { execFileSync } from 'node:child_process';
      import { mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
      import { Descriptor } from ${kernel('descriptor.ts')};
      import { MountThread } from ${kernel('mount-thread.ts')};
      const directory = ${JSON.stringify(directory)};
      execFileSync('sh', ['-ec', ${JSON.stringify(setUp)}, directory]);
      process.chdir(directory);
      const attributes = { readOnly: true, nosuid: true, nodev: true, noexec: true };
      const own = { fd: openSync('/proc/self/ns/mnt'), path: 'own' };
      const thread = new MountThread();
      using source = Descriptor.open('source/volume', ${O_PATH});
      using target = Descriptor.open('target/volume', ${O_PATH});
      ${calls.replace("'stage'", "directory + '/stage'")}
      mkdirSync('source/volume/late');
      execFileSync('mount', ['-t', 'tmpfs', 'late', 'source/volume/late']);
      writeSync(1, readFileSync('/proc/self/mountinfo'));`;
    const { stdout, stderr, status } = spawnSync(
      'unshare',
      ['--mount', process.execPath, '--input-type=module', '-e', script],
      { timeout: 20_000 },
    );
    t.equal(status, 0, stderr.toString());
    const table = parseMountinfo(stdout).filter(({ mountPoint }) =>
      mountPoint.startsWith(`${directory}/`),
    );
    const points = table.map(({ mountPoint }) => mountPoint.slice(directory.length + 1));
    t.strictSame(
      points.sort(),
      ['source', 'source/volume/late', 'target', 'target/volume'],
      method,
    );
    const groups = (point: string) =>
      table.find(({ mountPoint }) => mountPoint === join(directory, point))?.optionalFields;
    t.notOk(groups('target/volume')?.has('master'));
    t.not(groups('target/volume')?.get('shared'), groups('source')?.get('shared'));
    t.ok(groups('target/volume')?.get('shared'), 'and it is seen where the target is seen');
  }
});
