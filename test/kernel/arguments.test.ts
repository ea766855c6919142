import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { constants as system } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { O_PATH } from '../../src/kernel/open-flags.ts';
import { openat2, RESOLVE_BENEATH } from '../../src/kernel/openat2.ts';
import { bytesFromPath, pathFromBytes } from '../../src/kernel/path-bytes.ts';
import { SyscallError } from '../../src/kernel/syscall-error.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const beneath = { flags: constants.O_RDONLY, resolve: RESOLVE_BENEATH };

t.test('a path ends where it says, not at a null byte', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'disk'), 'content');
  using opened = Descriptor.open(directory, O_PATH | constants.O_DIRECTORY);
  t.throws(() => openat2(opened.number, 'disk\0.img', beneath), {
    code: 'EINVAL',
    syscall: 'openat2',
  });
});

t.test('a path reaches the kernel byte by byte', async (t) => {
  const directory = temporaryDirectory(t);
  const name = Buffer.from([0x64, 0xff, 0xc3, 0x28]);
  const parent = Buffer.from(`${directory}/ü🖴/`);
  mkdirSync(parent);
  writeFileSync(Buffer.concat([parent, name]), 'content');
  using opened = Descriptor.open(directory, O_PATH | constants.O_DIRECTORY);
  const path = join('ü🖴', pathFromBytes(name));
  t.strictSame(bytesFromPath(path), Buffer.concat([Buffer.from('ü🖴/'), name]));
  using file = openat2(opened.number, path, beneath);
  t.equal(readFileSync(file.number, 'utf8'), 'content');
});

t.test('paths of any bytes, joined in any way', async (t) => {
  const pieces = ['plain', 'ü', '🖴', '\udcff', '\udcc3\udc28', '\u{10fc80}'];
  for (const one of pieces) {
    for (const other of pieces) {
      const bytes = Buffer.concat([bytesFromPath(one), Buffer.from('/'), bytesFromPath(other)]);
      t.strictSame(bytesFromPath(`${one}/${other}`), bytes);
      t.strictSame(bytesFromPath(pathFromBytes(bytes)), bytes);
    }
  }
});

t.test('errors are as those of Node.js', async (t) => {
  const path = join(temporaryDirectory(t), 'nothing');
  const own = thrown(() => openSync(path, 'r'));
  const ours = new SyscallError(2, 'open', path);
  for (const property of ['message', 'code', 'errno', 'syscall', 'path'] as const) {
    t.equal(ours[property], own[property], property);
  }
  t.match(new SyscallError(524, 'bpf'), { code: 'errno 524', message: /, bpf$/ });
  for (const [code, errno] of Object.entries(system.errno)) {
    const isAlias = code === 'EWOULDBLOCK' || code === 'EOPNOTSUPP';
    if (!isAlias) t.equal(new SyscallError(errno, 'open').code, code);
  }
});

t.test('a descriptor is closed once, also where closing it fails', async (t) => {
  const number = openSync('/', O_PATH);
  const descriptor = new Descriptor(number);
  closeSync(number);
  t.throws(() => descriptor[Symbol.dispose](), { code: 'EBADF' });
  const next = openSync('/', O_PATH);
  t.equal(next, number, 'the number is in use again');
  descriptor[Symbol.dispose]();
  closeSync(next);
});

t.test('the foreign functions are loaded with the first call', async (t) => {
  const loads = (script: string) => {
    const module = join(import.meta.dirname, '../../src/mounter/mounter.ts');
    const source = `await import(${JSON.stringify(module)}); ${script}
      console.log(process.report.getReport().sharedObjects.some((name) => name.includes('koffi')));`;
    return spawnSync(process.execPath, ['--input-type=module', '-e', source], {
      encoding: 'utf8',
    }).stdout;
  };
  t.equal(loads(''), 'false\n');
  const statx = JSON.stringify(join(import.meta.dirname, '../../src/kernel/statx.ts'));
  t.equal(loads(`(await import(${statx})).statx(0);`), 'true\n');
});

function thrown(action: () => unknown): NodeJS.ErrnoException {
  try {
    action();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('it did not fail');
}
