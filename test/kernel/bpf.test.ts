import { randomUUID } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import t, { type Test } from 'tap';
import { deviceProgram, longProgram } from '../../scripts/demo/device-program.ts';
import {
  attachDeviceProgram,
  BPF_F_ALLOW_MULTI,
  BPF_F_ALLOW_OVERRIDE,
  detachDeviceProgram,
  effectiveDevicePrograms,
  queryDevicePrograms,
  replaceDeviceProgram,
} from '../../src/kernel/bpf-cgroup.ts';
import { findDeviceLink, updateLink } from '../../src/kernel/bpf-link.ts';
import {
  loadDeviceProgram,
  openProgram,
  programInfo,
  VerifierError,
} from '../../src/kernel/bpf-program.ts';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { attachByLink, instruction, podCgroup } from '../support/device-programs.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'cgroup2 mount');
const program = deviceProgram([{ type: 'c', major: 1, minor: 3 }]);

/** A cgroup of the test's own, and a load function whose descriptors go with the test. */
function environment(t: Test) {
  const cgroup = podCgroup(t, 'v2', randomUUID());
  const owned = <Owned extends Disposable>(each: Owned) => {
    t.teardown(() => each[Symbol.dispose]());
    return each;
  };
  return {
    path: cgroup.container,
    cgroup: owned(Descriptor.open(cgroup.container, 0)).number,
    pod: owned(Descriptor.open(cgroup.pod, 0)).number,
    load: (code = program, name = '') => owned(loadDeviceProgram(code, name)),
    owned,
  };
}

t.test('a program is shown as it was loaded', { skip }, async (t) => {
  const { load } = environment(t);
  for (const [code, name] of [
    [program, ''],
    [deviceProgram([]), 'sd_devices'],
    [longProgram(4097), 'a_longest_name1'],
  ] as const) {
    const loaded = load(code, name);
    const info = programInfo(loaded.number);
    t.equal(info.name, name);
    t.ok(info.instructions?.equals(code));
    using again = openProgram(info.id);
    t.equal(programInfo(again.number).id, info.id);
  }
});

t.test('the largest program that can be shown, and the first that cannot', { skip }, async (t) => {
  const { load } = environment(t);
  const most = (4 * 1024 * 1024) / 8;
  t.equal(programInfo(load(longProgram(most)).number).instructions?.length, most * 8);
  const larger = load(longProgram(most + 1));
  t.throws(() => programInfo(larger.number), { code: 'ENOMEM', syscall: 'bpf' });
});

t.test('what the verifier refuses', { skip }, async (t) => {
  const { load } = environment(t);
  const before = readdirSync('/proc/self/fd').length;
  for (const [code, expected] of [
    [
      [instruction(0x95)],
      { code: 'EACCES', message: 'the kernel refuses the program (EACCES): R0 !read_ok' },
    ],
    [[instruction(0xb7, 11), instruction(0x95)], { code: 'EINVAL', message: /R11 is invalid/ }],
    [[instruction(0xb4, 0, 0, 0, 1)], { code: 'EINVAL' }],
    [[instruction(0xff), instruction(0x95)], { code: 'EINVAL', message: /opcode ff/ }],
    [
      [instruction(0x61, 0, 1, 12), instruction(0x95)],
      { code: 'EACCES', message: /invalid bpf_context access/ },
    ],
  ] as const) {
    t.throws(() => load(Buffer.concat(code)), { name: 'VerifierError', ...expected });
  }
  t.throws(() => load(longProgram(1_000_001)), { name: 'VerifierError', code: 'E2BIG' });
  t.throws(() => load(Buffer.alloc(0)), VerifierError);
  t.equal(readdirSync('/proc/self/fd').length, before);
});

t.test('programs of a cgroup', { skip }, async (t) => {
  const { cgroup, pod, load } = environment(t);
  t.strictSame(queryDevicePrograms(cgroup), { ids: [], flags: 0 });
  const loaded = Array.from({ length: 64 }, () => load());
  const ids = loaded.map(({ number }) => programInfo(number).id);
  for (const { number } of loaded) attachDeviceProgram(cgroup, number, BPF_F_ALLOW_MULTI);
  t.strictSame(queryDevicePrograms(cgroup), { ids, flags: BPF_F_ALLOW_MULTI });
  t.throws(() => attachDeviceProgram(cgroup, load().number, BPF_F_ALLOW_MULTI), { code: 'E2BIG' });
  const above = Array.from({ length: 64 }, () => load());
  for (const { number } of above) attachDeviceProgram(pod, number, BPF_F_ALLOW_MULTI);
  t.equal(effectiveDevicePrograms(cgroup).length, 128);
  t.equal(queryDevicePrograms(cgroup).ids.length, 64);

  const [first, last] = [loaded[0], loaded.at(-1)];
  const other = load();
  t.throws(() => replaceDeviceProgram(cgroup, other.number, first?.number ?? -1), {
    code: 'E2BIG',
    message: 'E2BIG: argument list too long, bpf',
  });
  detachDeviceProgram(cgroup, last?.number ?? -1);
  replaceDeviceProgram(cgroup, other.number, first?.number ?? -1);
  t.equal(queryDevicePrograms(cgroup).ids[0], programInfo(other.number).id, 'in its very place');
  t.throws(() => replaceDeviceProgram(cgroup, load().number, first?.number ?? -1), {
    code: 'ENOENT',
  });
  detachDeviceProgram(cgroup, other.number);
  t.equal(queryDevicePrograms(cgroup).ids.length, 62);
  t.throws(() => detachDeviceProgram(cgroup, other.number), { code: 'ENOENT' });
});

t.test('a cgroup that takes one program', { skip }, async (t) => {
  for (const flags of [0, BPF_F_ALLOW_OVERRIDE]) {
    const { cgroup, load } = environment(t);
    attachDeviceProgram(cgroup, load().number, flags);
    const other = load();
    attachDeviceProgram(cgroup, other.number, flags);
    t.strictSame(queryDevicePrograms(cgroup), { ids: [programInfo(other.number).id], flags });
    t.throws(() => attachDeviceProgram(cgroup, load().number, BPF_F_ALLOW_MULTI), {
      code: 'EPERM',
    });
  }
});

t.test('the link of a program', { skip }, async (t) => {
  const { cgroup, path, load } = environment(t);
  const id = statSync(path, { bigint: true }).ino;
  attachByLink(t, path, program);
  const plain = load();
  attachDeviceProgram(cgroup, plain.number, BPF_F_ALLOW_MULTI);
  const [linked = 0, attached = 0] = queryDevicePrograms(cgroup).ids;
  const before = readdirSync('/proc/self/fd').length;
  t.equal(findDeviceLink(id, attached), undefined, 'it was attached without one');
  t.equal(findDeviceLink(id + 1n, linked), undefined, 'another cgroup');
  using link = findDeviceLink(id, linked);
  t.equal(readdirSync('/proc/self/fd').length, before + 1);
  using old = openProgram(linked);
  const fresh = load();
  updateLink(link?.number ?? -1, fresh.number, old.number);
  t.strictSame(queryDevicePrograms(cgroup).ids, [programInfo(fresh.number).id, attached]);
  t.throws(() => updateLink(link?.number ?? -1, load().number, old.number), { code: 'EPERM' });
  t.throws(() => replaceDeviceProgram(cgroup, load().number, fresh.number), { code: 'ENOENT' });
});

t.test('a program that is gone', { skip }, async (t) => {
  const loaded = loadDeviceProgram(program);
  const { id } = programInfo(loaded.number);
  loaded[Symbol.dispose]();
  // The kernel lets go of it a moment later.
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      openProgram(id)[Symbol.dispose]();
      await new Promise((resolve) => setTimeout(resolve, 10));
    } catch (error) {
      t.match(error, { code: 'ENOENT', syscall: 'bpf' });
      return;
    }
  }
  t.fail('it stays');
});
