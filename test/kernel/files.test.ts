import { execFileSync } from 'node:child_process';
import {
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { makeDevice, mknodat } from '../../src/kernel/device-node.ts';
import { mountIdOf } from '../../src/kernel/fdinfo.ts';
import { lock, tryLock } from '../../src/kernel/file-lock.ts';
import { readMountinfo } from '../../src/kernel/mountinfo.ts';
import { O_PATH } from '../../src/kernel/open-flags.ts';
import {
  openat2,
  RESOLVE_BENEATH,
  RESOLVE_IN_ROOT,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
} from '../../src/kernel/openat2.ts';
import { isSameFile, statx } from '../../src/kernel/statx.ts';
import { SyscallError } from '../../src/kernel/syscall-error.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const openDescriptors = () => readdirSync('/proc/self/fd').length;

t.test('openat2', async (t) => {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'root/etc'), { recursive: true });
  writeFileSync(join(directory, 'outside'), 'outside');
  writeFileSync(join(directory, 'root/etc/passwd'), 'inside');
  for (const [name, target] of [
    ['absolute', '/etc/passwd'],
    ['up', '../../../../../../etc/passwd'],
    ['out', '../outside'],
    ['magic', '/proc/self/root/etc/passwd'],
    ['loop', 'loop'],
  ] as const) {
    symlinkSync(target, join(directory, 'root', name));
  }
  using root = Descriptor.open(join(directory, 'root'), O_PATH | constants.O_DIRECTORY);
  const before = openDescriptors();
  const read = (path: string, resolve: number) => {
    try {
      using file = openat2(root.number, path, { flags: constants.O_RDONLY, resolve });
      return readFileSync(file.number, 'utf8');
    } catch (error) {
      return error instanceof SyscallError ? error.code : String(error);
    }
  };
  const inRoot = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (const [path, expected] of [
    ['etc/passwd', 'inside'],
    ['/etc/passwd', 'inside'],
    ['absolute', 'inside'],
    ['up', 'inside'],
    ['../../etc/passwd', 'inside'],
    ['out', 'ENOENT'],
    ['magic', 'ENOENT'],
    ['loop', 'ELOOP'],
    ['nothing', 'ENOENT'],
  ] as const) {
    t.equal(read(path, inRoot), expected, `in root: ${path}`);
  }
  const confined = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  t.equal(read('etc/passwd', confined), 'inside');
  t.equal(read('absolute', confined), 'ELOOP');
  t.equal(read('../outside', confined), 'EXDEV');
  t.equal(read('/etc/passwd', confined), 'EXDEV');
  using host = Descriptor.open('/', O_PATH | constants.O_DIRECTORY);
  t.throws(
    () => openat2(host.number, 'proc/self/fd/0', { flags: O_PATH, resolve: RESOLVE_NO_MAGICLINKS }),
    {
      code: 'ELOOP',
      errno: -40,
      syscall: 'openat2',
      path: 'proc/self/fd/0',
      message: /^ELOOP: .*, openat2 'proc\/self\/fd\/0'$/,
    },
  );
  t.equal(openDescriptors(), before + 1, 'no descriptor is left open');
});

t.test('descriptors', async (t) => {
  const before = openDescriptors();
  const one = Descriptor.open('/', O_PATH);
  t.equal(one.path, `/proc/self/fd/${one.number}`);
  const number = one.take();
  t.throws(() => one.number, { message: 'the descriptor is closed' });
  one[Symbol.dispose]();
  const again = new Descriptor(number);
  again[Symbol.dispose]();
  again[Symbol.dispose]();
  t.equal(openDescriptors(), before);
  using inherited = Descriptor.open('/', O_PATH);
  const child = execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' }).trim().split('\n');
  t.notOk(
    child.includes(String(inherited.number)) && inherited.number > 3,
    'children do not get it',
  );
});

t.test('statx', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'file'), 'content', { mode: 0o640 });
  for (const path of [join(directory, 'file'), '/dev/null', '/', '/proc/self']) {
    using file = Descriptor.open(path, O_PATH);
    const status = statx(file.number);
    const expected = statSync(path, { bigint: true });
    t.equal(BigInt(status.mode), expected.mode);
    t.equal(status.ino, expected.ino);
    t.equal(status.size, expected.size);
    t.equal(BigInt(status.uid), expected.uid);
    t.equal(makeDevice(status.rdev), expected.rdev);
    t.equal(makeDevice(status.device), expected.dev);
    t.equal(Number(status.mountId), mountIdOf(file.number));
    t.ok(readMountinfo('/proc/self').some(({ id }) => BigInt(id) === status.mountId));
  }
  using root = Descriptor.open('/', O_PATH);
  using file = Descriptor.open(join(directory, 'file'), O_PATH);
  using same = Descriptor.open(join(directory, 'file'), O_PATH);
  t.equal(statx(root.number).isMountRoot, true);
  t.equal(statx(file.number).isMountRoot, false);
  t.ok(isSameFile(statx(file.number), statx(same.number)));
  t.notOk(isSameFile(statx(file.number), statx(root.number)));
});

t.test('device nodes', { skip: skipUnless('root') }, async (t) => {
  const directory = temporaryDirectory(t);
  using opened = Descriptor.open(directory, O_PATH | constants.O_DIRECTORY);
  for (const device of [
    { major: 7, minor: 0 },
    { major: 259, minor: 1_000_000 },
    { major: 4095, minor: 255 },
  ]) {
    const name = `${device.major}-${device.minor}`;
    mknodat(opened.number, name, constants.S_IFBLK | 0o600, device);
    t.equal(statSync(join(directory, name), { bigint: true }).rdev, makeDevice(device));
    using node = Descriptor.open(join(directory, name), O_PATH);
    t.strictSame(statx(node.number).rdev, device);
    t.throws(() => mknodat(opened.number, name, constants.S_IFBLK, device), {
      code: 'EEXIST',
      syscall: 'mknodat',
    });
  }
});

t.test('file locks', async (t) => {
  const path = join(temporaryDirectory(t), 'lock');
  const open = () => Descriptor.open(path, constants.O_RDWR | constants.O_CREAT);
  const first = open();
  using second = open();
  t.equal(tryLock(first, path), true);
  t.equal(tryLock(second, path), false);
  let waits = 0;
  const waited = lock(second, path, { patience: 30, waiting: () => (waits += 1) });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(waits, 1, 'it says once that it waits');
  first[Symbol.dispose]();
  await waited;
  using third = open();
  t.equal(tryLock(third, path), false);
  const controller = new AbortController();
  const aborted = lock(third, path, {
    patience: 1000,
    waiting: () => {},
    signal: controller.signal,
  });
  controller.abort();
  await t.rejects(aborted, { name: 'AbortError' });
});
