import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  callingProgram,
  deviceProgram,
  longProgram,
} from '../../../scripts/demo/device-program.ts';
import { attribute, bpf } from '../../../src/kernel/bpf.ts';
import { BPF_F_ALLOW_MULTI, BPF_F_ALLOW_OVERRIDE } from '../../../src/kernel/bpf-cgroup.ts';
import { Descriptor } from '../../../src/kernel/descriptor.ts';
import { DeviceFilter } from '../../../src/mounter/devices/device-filter.ts';
import type { DeviceRule } from '../../../src/mounter/devices/device-rule.ts';
import {
  attach,
  attachByLink,
  attached,
  attachedInfo,
  deviceNode,
  deviceNumber,
  instruction,
  podCgroup,
} from '../../support/device-programs.ts';
import { skipUnless } from '../../support/requirements.ts';

const skip = skipUnless('root', 'setpriv', 'cgroup2 mount');
const nullDevice = { type: 'c', major: 1, minor: 3 } as const;
const zero: DeviceRule = { type: 'c', major: 1, minor: 5 };
const refused = 'Operation not permitted';

function filterOf(t: Test, directory: string): DeviceFilter {
  const filter = new DeviceFilter(directory);
  t.teardown(() => filter[Symbol.dispose]());
  return filter;
}

/** A container's cgroup, a filter of it, and nodes of /dev/null and /dev/zero. */
function container(t: Test) {
  const cgroup = podCgroup(t, 'v2', randomUUID());
  return {
    cgroup,
    directory: cgroup.container,
    filter: filterOf(t, cgroup.container),
    access: (rule: DeviceRule) => cgroup.open(deviceNode(t, rule)),
  };
}

t.test('block devices of two drivers', { skip }, async (t) => {
  for (const path of ['/dev/loop0', '/dev/zram0']) {
    if (!existsSync(path)) continue;
    const { directory, filter, access } = container(t);
    const rule: DeviceRule = { type: 'b', ...deviceNumber(path) };
    attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    const before = attached(directory);
    t.equal(access(rule), refused);
    t.equal(filter.has(rule), false);
    t.equal(filter.allow(rule), true);
    t.equal(filter.allow(rule), false, 'the second time there is nothing to do');
    t.equal(filter.has(rule), true);
    t.not(access(rule), refused);
    t.equal(access({ ...rule, minor: rule.minor + 1 }), refused);
    t.equal(access({ ...rule, type: 'c' }), refused, 'a character device of the same number');
    t.equal(access(nullDevice), 'opened');
    t.equal(filter.withdraw(rule), true);
    t.equal(filter.withdraw(rule), false);
    t.equal(access(rule), refused);
    t.strictSame(attached(directory), before);
  }
});

t.test('a program that a link attaches', { skip }, async (t) => {
  const { directory, filter, access } = container(t);
  attachByLink(t, directory, deviceProgram([nullDevice]));
  attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  attachByLink(t, directory, deviceProgram([nullDevice, { type: 'c', major: 5 }]));
  const before = attached(directory);
  t.equal(before.length, 3);
  t.equal(filter.allow(zero), true);
  t.equal(access(zero), 'opened');
  t.equal(attached(directory).length, 3);
  t.equal(filter.withdraw(zero), true);
  t.equal(access(zero), refused);
  t.strictSame(attached(directory), before);
});

t.test('all programs or none: what was done is undone', { skip }, async (t) => {
  for (const last of [callingProgram(), longProgram(524_285)]) {
    const { directory, filter } = container(t);
    attachByLink(t, directory, deviceProgram([nullDevice]));
    attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
    attach(directory, last, BPF_F_ALLOW_MULTI);
    const before = attachedInfo(directory).map(({ id }) => id);
    t.throws(() => filter.allow(zero), { code: 'ECGROUP' });
    t.strictSame(
      attachedInfo(directory).map(({ id }) => id),
      before,
      'they are the very programs that were there before',
    );
  }
});

t.test('no descriptor and no program is left', { skip }, async (t) => {
  const { directory, filter } = container(t);
  attachByLink(t, directory, deviceProgram([nullDevice]));
  attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  filter.allow(zero);
  const descriptors = readdirSync('/proc/self/fd').length;
  const refusing = container(t);
  attach(refusing.directory, callingProgram(), BPF_F_ALLOW_MULTI);
  for (let count = 0; count < 50; count += 1) {
    filter.withdraw(zero);
    filter.allow(zero);
    filter.has(zero);
    t.throws(() => refusing.filter.allow(zero));
  }
  t.equal(readdirSync('/proc/self/fd').length, descriptors + 1, 'the other filter has one');
});

t.test('a name stays', { skip }, async (t) => {
  const { directory, filter } = container(t);
  attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI, 'sd_devices');
  filter.allow(zero);
  t.strictSame(
    attachedInfo(directory).map(({ name }) => name),
    ['sd_devices'],
  );
});

t.test('programs of any form come back as they were', { skip }, async (t) => {
  const allow = [instruction(0xb4, 0, 0, 0, 1), instruction(0x95)];
  const deny = [instruction(0xb4, 0, 0, 0, 0), instruction(0x95)];
  const forms: Record<string, Buffer[]> = {
    // r2 = (u16)type; if it is a character device, allow
    '16-bit load of the context': [
      instruction(0x69, 2, 1, 0),
      instruction(0x55, 2, 0, 2, 2),
      ...allow,
      ...deny,
    ],
    '8-bit load of the context': [
      instruction(0x71, 2, 1, 0),
      instruction(0x55, 2, 0, 2, 2),
      ...allow,
      ...deny,
    ],
    '32-bit jumps': [instruction(0x61, 2, 1, 4), instruction(0x56, 2, 0, 2, 1), ...allow, ...deny],
    'a 64-bit constant': [
      instruction(0x18, 3, 0, 0, 1),
      instruction(0, 0, 0, 0, 0),
      instruction(0x61, 2, 1, 4),
      instruction(0x5d, 2, 3, 2),
      ...allow,
      ...deny,
    ],
    'the stack, and a jump back': [
      instruction(0x7a, 10, 0, -8, 3),
      instruction(0x79, 2, 10, -8),
      instruction(0x17, 2, 0, 0, 1),
      instruction(0x55, 2, 0, -2, 0),
      ...allow,
    ],
    'dead code, which the verifier takes out': [
      instruction(0xb7, 2, 0, 0, 1),
      instruction(0x15, 2, 0, 2, 1),
      ...deny,
      ...allow,
    ],
    'one that allows everything': allow,
  };
  for (const [form, program] of Object.entries(forms)) {
    const { directory, filter, access } = container(t);
    attach(directory, Buffer.concat(program), BPF_F_ALLOW_MULTI);
    const before = attached(directory);
    const accessBefore = access(nullDevice);
    filter.allow(zero);
    t.equal(access(zero), 'opened', form);
    t.equal(access(nullDevice), accessBefore, form);
    filter.withdraw(zero);
    t.strictSame(attached(directory), before, form);
  }
});

t.test('what cannot be loaded again is named, and left', { skip }, async (t) => {
  const map = new Descriptor(
    bpf(
      0, // BPF_MAP_CREATE
      attribute((attr) => {
        attr.writeUInt32LE(2, 0); // BPF_MAP_TYPE_ARRAY
        attr.writeUInt32LE(4, 4); // key_size
        attr.writeUInt32LE(8, 8); // value_size
        attr.writeUInt32LE(1, 12); // max_entries
      }),
    ),
  );
  t.teardown(() => map[Symbol.dispose]());
  const allow = [instruction(0xb4, 0, 0, 0, 1), instruction(0x95)];
  const programs = {
    'it refers to a map or to kernel data \\(instruction 0\\)': [
      instruction(0x18, 2, 1, 0, map.number),
      instruction(0),
      ...allow,
    ],
    'it calls a function \\(instruction 0\\)': [
      instruction(0x85, 0, 1, 0, 1),
      instruction(0x95),
      ...allow,
    ],
  };
  for (const [why, program] of Object.entries(programs)) {
    const { directory, filter } = container(t);
    attach(directory, Buffer.concat(program), BPF_F_ALLOW_MULTI);
    const before = attached(directory);
    t.throws(() => filter.allow(zero), { code: 'ECGROUP', message: new RegExp(why) });
    t.strictSame(attached(directory), before);
    t.equal(filter.withdraw(zero), false, 'there is nothing to withdraw');
  }
});

t.test('another runtime replaces the program all the time', { skip }, async (t) => {
  const source = (name: string) => JSON.stringify(join(import.meta.dirname, '../../..', name));
  for (const flags of [BPF_F_ALLOW_MULTI, BPF_F_ALLOW_OVERRIDE, 0]) {
    const { directory, filter } = container(t);
    attach(directory, deviceProgram([nullDevice]), flags);
    const runtime = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `
        import { attachDeviceProgram, queryDevicePrograms, replaceDeviceProgram } from ${source('src/kernel/bpf-cgroup.ts')};
        import { loadDeviceProgram, openProgram } from ${source('src/kernel/bpf-program.ts')};
        import { Descriptor } from ${source('src/kernel/descriptor.ts')};
        import { deviceProgram } from ${source('scripts/demo/device-program.ts')};
        const cgroup = Descriptor.open(${JSON.stringify(directory)}, 0);
        let count = 0;
        console.log('up');
        process.on('SIGTERM', () => { console.log(count); process.exit(); });
        setInterval(() => {
          for (let round = 0; round < 10; round += 1) {
            using fresh = loadDeviceProgram(deviceProgram([{ type: 'c', major: 1, minor: 3 }, { type: 'c', major: 5, minor: count % 7 }]));
            try {
              if (${flags} !== ${BPF_F_ALLOW_MULTI}) attachDeviceProgram(cgroup.number, fresh.number, ${flags});
              else {
                using old = openProgram(queryDevicePrograms(cgroup.number).ids[0]);
                replaceDeviceProgram(cgroup.number, fresh.number, old.number);
              }
              count += 1;
            } catch (error) {
              if (error.code !== 'ENOENT') throw error;
            }
          }
        });`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    t.teardown(() => runtime.kill('SIGKILL'));
    await once(runtime.stdout, 'data');
    const end = performance.now() + 300;
    let edits = 0;
    for (; performance.now() < end; edits += 1) {
      filter.allow(zero);
      filter.withdraw(zero);
      await new Promise(setImmediate);
    }
    runtime.kill('SIGTERM');
    const [count] = await once(runtime.stdout, 'data');
    await once(runtime, 'close');
    t.ok(Number(count) > 20, `it was replaced ${Number(count)} times, and edited ${edits} times`);
    filter.withdraw(zero);
    const [left] = attached(directory);
    t.equal(attached(directory).length, 1);
    const last = [0, 1, 2, 3, 4, 5, 6].map((minor) =>
      deviceProgram([nullDevice, { type: 'c', major: 5, minor }]).toString('hex'),
    );
    t.ok(last.includes(left ?? ''), 'the program is one of the runtime, as it wrote it');
  }
});

t.test('programs above the pod have a say, too', { skip }, async (t) => {
  const { cgroup, directory, filter } = container(t);
  attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  t.strictSame(filter.effective, filter.attached);
  attach(cgroup.pod, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  t.equal(filter.attached.length, 1);
  t.equal(filter.effective.length, 2);
});

t.test('as many programs as a cgroup can have', { skip }, async (t) => {
  const { directory, filter } = container(t);
  for (let count = 0; count < 63; count += 1) {
    attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  }
  const before = attached(directory);
  t.equal(filter.allow(zero), true);
  t.equal(filter.has(zero), true);
  t.equal(filter.withdraw(zero), true);
  t.strictSame(attached(directory), before);
  attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  t.throws(() => filter.allow(zero), { code: 'ECGROUP', message: /as many programs as .*\(64\)/ });
  t.equal(filter.has(zero), false);
});

t.test('a cgroup that is gone', { skip }, async (t) => {
  const { cgroup, filter } = container(t);
  await cgroup[Symbol.asyncDispose]();
  t.throws(() => new DeviceFilter(cgroup.container), { code: 'ENOENT' });
  t.throws(() => filter.allow(zero), { code: 'ECGROUP', message: /ENOENT|ENODEV/ });
});
