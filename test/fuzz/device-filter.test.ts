import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { type AllowedDevice, deviceProgram } from '../../scripts/demo/device-program.ts';
import { loadDeviceProgram, programInfo } from '../../src/kernel/bpf-program.ts';
import { unblinded } from '../../src/mounter/devices/constant-blinding.ts';
import { type DeviceRule, isSameDevice } from '../../src/mounter/devices/device-rule.ts';
import {
  devicesOf,
  unloadable,
  withDevice,
  withoutDevice,
} from '../../src/mounter/devices/filter-prefix.ts';
import { fuzz, plain } from '../support/fuzz.ts';
import { mutated } from '../support/mutations.ts';
import { skipUnless } from '../support/requirements.ts';
import { type Question, runProgram } from './run-program.ts';

const type = fc.constantFrom('b', 'c');
/** Few, so that rules meet; and the largest that the kernel has (MAJOR and MINOR of linux/kdev_t.h). */
const major = fc.constantFrom(1, 7, 8, 253, 4095);
const minor = fc.constantFrom(0, 1, 3, 255, 1_048_575);
const access = fc.constantFrom('r', 'w', 'm', 'rw', 'rwm');

const allowed: fc.Arbitrary<readonly AllowedDevice[]> = fc.array(
  fc.oneof(
    fc.record({ type, major, minor, access }, plain),
    fc.record({ type, major, access }, plain),
  ),
  { maxLength: 6 },
);
const device: fc.Arbitrary<DeviceRule> = fc.record({ type, major, minor }, plain);
const question: fc.Arbitrary<Question> = fc.record(
  { type, major, minor, access: fc.integer({ min: 1, max: 7 }) },
  plain,
);
const change = fc.record({ device, isAdded: fc.boolean() }, plain);

const bits = { m: 1, r: 2, w: 4 };

/** What the rules of a runtime say, without a program. */
function isAllowed(rules: readonly AllowedDevice[], asked: Question): boolean {
  return rules.some(({ type, major, minor, access = 'rwm' }) => {
    const mask = Array.from(access, (letter) => bits[letter as keyof typeof bits] ?? 0).reduce(
      (sum, bit) => sum | bit,
      0,
    );
    const isMeant =
      asked.type === type && asked.major === major && (minor ?? asked.minor) === asked.minor;
    return isMeant && (asked.access & ~mask) === 0;
  });
}

/** Devices put in front and taken away, one after the other. */
function changed(base: Buffer, changes: readonly { device: DeviceRule; isAdded: boolean }[]) {
  let program = base;
  let devices: DeviceRule[] = [];
  for (const { device, isAdded } of changes) {
    program = (isAdded ? withDevice : withoutDevice)(program, device);
    const others = devices.filter((each) => !isSameDevice(each, device));
    const isThere = others.length < devices.length;
    if (isAdded) devices = isThere ? devices : [device, ...devices];
    else devices = others;
  }
  return { program, devices };
}

const sequences = fc.tuple(
  allowed,
  fc.array(change, { maxLength: 8 }),
  fc.array(question, { minLength: 1, maxLength: 8 }),
);

fuzz(t, 'device filters: the rules that were there, and the devices', sequences, (input) => {
  const [rules, changes, questions] = input;
  const base = deviceProgram(rules);
  const { program, devices } = changed(base, changes);
  assert.deepEqual(devicesOf(program), devices);
  for (const asked of questions) {
    const isPluggedIn = devices.some((each) => isSameDevice(each, { ...asked, access: 'rwm' }));
    assert.equal(runProgram(program, asked), isPluggedIn || isAllowed(rules, asked));
  }
  const undone = devices.reduce((left, each) => withoutDevice(left, each), program);
  assert.ok(undone.equals(base), 'byte for byte what it was');
});

const skip = skipUnless('root', 'cgroup2 mount');
if (skip) {
  t.test("device filters: the kernel's verifier", { skip }, async () => {});
} else {
  fuzz(t, "device filters: the kernel's verifier", sequences, ([rules, changes]) => {
    const { program } = changed(deviceProgram(rules), changes);
    assert.equal(unloadable(program), undefined);
    using loaded = loadDeviceProgram(program);
    const { instructions } = programInfo(loaded.number);
    const shown = instructions && unblinded(instructions);
    if (shown !== undefined) assert.ok(shown.equals(program), 'as it was given');
  });
}

fuzz(
  t,
  'device filters: any bytes',
  fc.tuple(mutated(allowed.map(deviceProgram)), device),
  (input) => {
    const [bytes, rule] = input;
    const program = bytes.subarray(0, bytes.length - (bytes.length % 8));
    const isThere = devicesOf(program).some((each) => isSameDevice(each, rule));
    const changed = withDevice(program, rule);
    if (isThere) assert.ok(changed.equals(program));
    else assert.ok(withoutDevice(changed, rule).equals(program));
    const why = unloadable(program);
    assert.ok(why === undefined || /^it (calls a function|refers to a map)/.test(why));
  },
);
