import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { deviceProgram } from '../../../scripts/demo/device-program.ts';
import { BPF_F_ALLOW_MULTI } from '../../../src/kernel/bpf-cgroup.ts';
import { DeviceFilter } from '../../../src/mounter/devices/device-filter.ts';
import type { DeviceRule } from '../../../src/mounter/devices/device-rule.ts';
import { attach, attached, deviceNode, podCgroup } from '../../support/device-programs.ts';
import { skipUnless } from '../../support/requirements.ts';

const skip = skipUnless('root', 'setpriv', 'cgroup2 mount');
const setting = '/proc/sys/net/core/bpf_jit_harden';
const current = skip === false ? readFileSync(setting, 'utf8') : '';
const nullDevice = { type: 'c', major: 1, minor: 3 } as const;
const zero: DeviceRule = { type: 'c', major: 1, minor: 5 };
const refused = 'Operation not permitted';

/** For as short as can be: it is the whole machine's. That is why this file is run alone (.taprc). */
function hardened(action: () => void): void {
  writeFileSync(setting, '2');
  try {
    action();
  } finally {
    writeFileSync(setting, current);
  }
}

/** A container's cgroup, a filter of it, and what opening a device there comes to. */
function container(t: Test) {
  const cgroup = podCgroup(t, 'v2', randomUUID());
  const filter = new DeviceFilter(cgroup.container);
  t.teardown(() => filter[Symbol.dispose]());
  const access = (rule: DeviceRule) => cgroup.open(deviceNode(t, rule));
  return { directory: cgroup.container, filter, access };
}

t.test('where the kernel blinds constants', { skip }, async (t) => {
  const base = deviceProgram([nullDevice, { type: 'b', major: 259 }]);
  for (const [whose, attaching, editing] of [
    ['both programs', hardened, hardened],
    ['the runtime’s program', hardened, (action: () => void) => action()],
    ['ours', (action: () => void) => action(), hardened],
  ] as const) {
    const { directory, filter, access } = container(t);
    attaching(() => attach(directory, base, BPF_F_ALLOW_MULTI));
    editing(() => t.equal(filter.allow(zero), true, whose));
    t.equal(filter.has(zero), true);
    t.equal(access(zero), 'opened');
    t.equal(access(nullDevice), 'opened');
    t.equal(access({ type: 'c', major: 1, minor: 7 }), refused);
    t.equal(filter.allow(zero), false);
    t.equal(filter.withdraw(zero), true);
    t.equal(access(zero), refused);
    t.equal(access(nullDevice), 'opened');
    const [program = ''] = attached(directory);
    t.equal(program.length, base.length * 2, 'as long as before');
  }
  const { directory, filter, access } = container(t);
  hardened(() => attach(directory, deviceProgram([]).subarray(-16), BPF_F_ALLOW_MULTI));
  t.equal(filter.allow(zero), true, 'a program that only refuses');
  // What reads it writes to /dev/null.
  filter.allow(nullDevice);
  t.equal(access(zero), 'opened');
  t.equal(filter.withdraw(zero), true);
  t.equal(access(zero), refused);
  filter.withdraw(nullDevice);
  t.strictSame(
    attached(directory).map((program) => program.length),
    [32],
  );
});

t.test('where the kernel hides what it has blinded', { skip }, async (t) => {
  const { directory, filter } = container(t);
  hardened(() => attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI));
  const source = join(import.meta.dirname, '../../../src/mounter/devices/device-filter.ts');
  const script = `
    import { DeviceFilter } from ${JSON.stringify(source)};
    try {
      new DeviceFilter(${JSON.stringify(directory)}).allow({ type: 'c', major: 1, minor: 5 });
    } catch (error) {
      console.log(error.code, error.message);
    }`;
  // As kernel.kptr_restrict=2 does for everybody.
  const { stdout } = spawnSync(
    'setpriv',
    [
      ...['--bounding-set=-syslog', '--inh-caps=-syslog'],
      ...[process.execPath, '--input-type=module', '-e', script],
    ],
    { encoding: 'utf8' },
  );
  t.match(
    stdout,
    /^ECGROUP .*the kernel does not show the instructions of its program \d+ \(no CAP_PERFMON, or net.core.bpf_jit_harden with kernel.kptr_restrict\)$/m,
  );
  t.equal(filter.allow(zero), true, 'to others they are shown');
});
