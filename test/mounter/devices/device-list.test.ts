import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { hasDeviceCgroups } from '../../../scripts/demo/pod-cgroup.ts';
import { DeviceList } from '../../../src/mounter/devices/device-list.ts';
import type { DeviceRule } from '../../../src/mounter/devices/device-rule.ts';
import {
  parseRecordedDevice,
  recordedDevice,
} from '../../../src/mounter/devices/recorded-device.ts';
import { deviceNode, podCgroup } from '../../support/device-programs.ts';
import { skipUnless } from '../../support/requirements.ts';

const skip =
  skipUnless('root', 'setpriv') ||
  (hasDeviceCgroups('v1') ? false : 'no v1 devices controller is mounted');
const zero: DeviceRule = { type: 'c', major: 1, minor: 5 };
const refused = 'Operation not permitted';

/** A container's cgroup that allows /dev/null and what else is given. */
function container(t: Test, ...rules: string[]) {
  const cgroup = podCgroup(t, 'v1', randomUUID());
  cgroup.write('devices.deny', 'a');
  for (const rule of ['c 1:3 rwm', ...rules]) cgroup.write('devices.allow', rule);
  return {
    cgroup,
    list: new DeviceList(cgroup.container),
    entries: () => cgroup.read('devices.list').trim().split('\n'),
    access: (rule: DeviceRule) => cgroup.open(deviceNode(t, rule)),
  };
}

t.test('a device is allowed, used, and refused again', { skip }, async (t) => {
  const { list, entries, access } = container(t, 'b 259:* r');
  const before = entries();
  t.equal(access(zero), refused);
  t.equal(list.missing(zero), 'rwm');
  t.equal(list.allow(zero), 'rwm');
  t.equal(list.allow(zero), '');
  t.strictSame(entries(), [...before, 'c 1:5 rwm']);
  t.equal(access(zero), 'opened');
  t.equal(list.withdraw(zero), true);
  t.equal(list.withdraw(zero), false);
  t.equal(access(zero), refused);
  t.strictSame(entries(), before);
});

t.test('what was allowed before stays allowed, letter by letter', { skip }, async (t) => {
  for (const [rules, missing, during] of [
    [['c 1:5 r'], 'wm', ['c 1:5 rwm']],
    [['c 1:5 wm'], 'r', ['c 1:5 rwm']],
    [['c 1:* rw'], 'm', ['c 1:* rw', 'c 1:5 m']],
    [['c 1:* rw', 'c 1:5 m'], '', ['c 1:* rw', 'c 1:5 m']],
    [['c *:* rm', 'c 1:5 r'], 'w', ['c *:* rm', 'c 1:5 rw']],
    [['b 1:5 rwm'], 'rwm', ['b 1:5 rwm', 'c 1:5 rwm']],
    [['c 1:5 rwm'], '', ['c 1:5 rwm']],
  ] as const) {
    const { list, entries } = container(t, ...rules);
    const before = entries();
    const access = list.allow(zero);
    t.equal([...access].sort().join(''), [...missing].sort().join(''), String(rules));
    t.strictSame(entries(), ['c 1:3 rwm', ...during], String(rules));
    t.equal(list.missing(zero), '');
    list.withdraw({ ...zero, access });
    t.strictSame(entries(), before, String(rules));
  }
});

t.test('an entry that somebody else has made since is left', { skip }, async (t) => {
  const { cgroup, list, entries } = container(t);
  list.allow(zero);
  cgroup.write('devices.deny', 'c 1:5 rwm');
  cgroup.write('devices.allow', 'c 1:5 r');
  t.equal(list.withdraw(zero), false);
  t.strictSame(entries(), ['c 1:3 rwm', 'c 1:5 r']);
});

t.test('a cgroup that allows everything', { skip }, async (t) => {
  const list = new DeviceList(podCgroup(t, 'v1', randomUUID()).container);
  t.equal(list.missing(zero), '');
  t.equal(list.allow(zero), '');
  t.equal(list.withdraw({ ...zero, access: '' }), false);
  t.equal(list.missing(zero), '');
});

t.test('the parent refuses', { skip }, async (t) => {
  const cgroup = podCgroup(t, 'v1', randomUUID());
  cgroup.write('devices.deny', 'a');
  writeFileSync(join(cgroup.pod, 'devices.deny'), 'c 1:5 rwm');
  const list = new DeviceList(cgroup.container);
  const before = cgroup.read('devices.list');
  t.throws(() => list.allow(zero), {
    code: 'ECGROUP',
    message:
      /cannot write "c 1:5 rwm" to .*\/devices\.allow: EPERM: .*does the parent cgroup allow the device\?/,
  });
  t.equal(cgroup.read('devices.list'), before);
});

t.test('a device in the record', async (t) => {
  const device = { major: 259, minor: 1_000_000 };
  for (const [missing, text, access] of [
    [undefined, '259:1000000', 'rwm'],
    ['rwm', '259:1000000', 'rwm'],
    ['wm', '259:1000000 wm', 'wm'],
    ['', '259:1000000 -', ''],
  ] as const) {
    t.equal(recordedDevice(device, missing), text);
    t.strictSame(parseRecordedDevice(text), { type: 'b', ...device, access });
  }
  for (const text of [undefined, '', '7', '7:', '7:0 x', '7:0 rwm extra', '-7:0']) {
    t.equal(parseRecordedDevice(text), undefined, String(text));
  }
});
