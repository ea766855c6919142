import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { callingProgram, deviceProgram } from '../../../scripts/demo/device-program.ts';
import { hasDeviceCgroups, type PodCgroup } from '../../../scripts/demo/pod-cgroup.ts';
import { BPF_F_ALLOW_MULTI } from '../../../src/kernel/bpf-cgroup.ts';
import { pidfdOpen } from '../../../src/kernel/pidfd.ts';
import { ProcessHandle } from '../../../src/kernel/process-handle.ts';
import { DeviceFilter } from '../../../src/mounter/devices/device-filter.ts';
import { DeviceList } from '../../../src/mounter/devices/device-list.ts';
import type { DeviceRule } from '../../../src/mounter/devices/device-rule.ts';
import { prefix } from '../../../src/mounter/devices/filter-prefix.ts';
import { findPodDevices } from '../../../src/mounter/devices/find-pod-devices.ts';
import { openPodDevices } from '../../../src/mounter/devices/open-pod-devices.ts';
import { PodDevices } from '../../../src/mounter/devices/pod-devices.ts';
import { attach, attached, podCgroup } from '../../support/device-programs.ts';
import { skipUnless } from '../../support/requirements.ts';

const skip = skipUnless('root', 'cgroup2 mount');
const skipV1 = skip || (hasDeviceCgroups('v1') ? false : 'no v1 devices controller is mounted');
const nullDevice = { type: 'c', major: 1, minor: 3 } as const;
const zero: DeviceRule = { type: 'c', major: 1, minor: 5 };

/** A process in a cgroup, held. */
async function processIn(t: Test, directory: string, command = 'exec sleep 600') {
  const script = `echo $$ > "$0/cgroup.procs"; echo up; ${command}`;
  const child = spawn('sh', ['-c', script, directory], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  const pid = child.pid ?? 0;
  const process = new ProcessHandle(pid, pidfdOpen(pid));
  t.teardown(() => process[Symbol.dispose]());
  return { child, process, lines };
}

/** A cgroup below another, which goes before that. */
function below(t: Test, cgroup: PodCgroup, path: string): string {
  const directory = join(cgroup.container, path);
  mkdirSync(directory, { recursive: true });
  t.teardown(async () => {
    for (let at = directory; at !== cgroup.container; at = join(at, '..')) {
      for (let attempt = 0; attempt < 200; attempt += 1) {
        try {
          rmdirSync(at);
          break;
        } catch {
          await sleep(10);
        }
      }
    }
  });
  return directory;
}

t.test('the cgroups of a process, up to its pod’s', { skip }, async (t) => {
  const uid = randomUUID();
  const cgroup = podCgroup(t, 'v2', uid);
  const inner = below(t, cgroup, 'init');
  for (const directory of [inner, cgroup.container, cgroup.pod, join(cgroup.pod, '..')]) {
    attach(directory, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  }
  const { process } = await processIn(t, inner);
  using devices = findPodDevices(process, uid);
  t.equal(devices.has(zero), false);
  t.equal(devices.missing(zero), undefined, 'there is no list');
  const before = [inner, cgroup.container, cgroup.pod].map(attached);
  const top = attached(join(cgroup.pod, '..'));
  const allowed = devices.allow(zero);
  t.equal(allowed.isNew, true);
  t.equal(devices.has(zero), true);
  t.equal(devices.isDecidedAbove, true, 'a program above the pod has a say');
  for (const directory of [inner, cgroup.container, cgroup.pod]) {
    t.equal(attached(directory)[0]?.length, (before[0]?.[0]?.length ?? 0) + 160);
  }
  t.strictSame(attached(join(cgroup.pod, '..')), top, 'what is above the pod is not touched');
  t.equal(devices.allow(zero).isNew, false);
  devices.withdraw(zero);
  t.strictSame([inner, cgroup.container, cgroup.pod].map(attached), before);
  devices.allow(zero).undo();
  t.strictSame([inner, cgroup.container, cgroup.pod].map(attached), before);
});

t.test('names of the systemd driver', { skip }, async (t) => {
  const uid = randomUUID();
  const cgroup = podCgroup(t, 'v2', randomUUID());
  const slice = `kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice`;
  const scope = below(t, cgroup, `${slice}/cri-containerd-0123.scope`);
  const { process } = await processIn(t, scope);
  attach(scope, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  using devices = findPodDevices(process, uid);
  t.equal(devices.allow(zero).isNew, true);
  t.equal(devices.isDecidedAbove, false);
  devices.withdraw(zero);
  for (const other of [randomUUID(), uid.slice(1), `${uid}0`, uid.replaceAll('-', '_')]) {
    t.throws(() => findPodDevices(process, other), {
      code: 'ECGROUP',
      message: new RegExp(`process ${process.pid} is not in a device cgroup of pod ${other}`),
    });
  }
});

t.test('a process that has just ended', { skip }, async (t) => {
  const uid = randomUUID();
  const cgroup = podCgroup(t, 'v2', uid);
  const inner = below(t, cgroup, 'init');
  const { child, process } = await processIn(t, inner);
  child.kill('SIGKILL');
  await once(child, 'close');
  t.throws(() => findPodDevices(process, uid), { name: 'ProcessGoneError', code: 'ESRCH' });

  // One that nobody has waited for has left its cgroup, which can be removed.
  const outlivesTheShell = '(while grep -q ^sh /proc/$$/comm; do :; done)';
  const parent = await processIn(t, inner, `${outlivesTheShell} & echo $!; exec sleep 600`);
  const pid = Number((await parent.lines.next()).value);
  using zombie = new ProcessHandle(pid, pidfdOpen(pid));
  while (!zombie.hasEnded) await sleep(5);
  t.ok(zombie.isAlive);
  t.throws(() => findPodDevices(zombie, uid), { name: 'ProcessGoneError', code: 'ESRCH' });
});

t.test('all cgroups or none: what was done is undone', { skip: skipV1 }, async (t) => {
  const lists = podCgroup(t, 'v1', randomUUID());
  lists.write('devices.deny', 'a');
  lists.write('devices.allow', 'c 1:5 r');
  const filters = podCgroup(t, 'v2', randomUUID());
  attach(filters.container, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  attach(filters.pod, callingProgram(), BPF_F_ALLOW_MULTI);
  const state = () => [
    lists.read('devices.list'),
    attached(filters.container),
    attached(filters.pod),
  ];
  const before = state();
  using devices = new PodDevices(
    [new DeviceList(lists.container)],
    [new DeviceFilter(filters.container), new DeviceFilter(filters.pod)],
  );
  t.throws(() => devices.allow(zero), { code: 'ECGROUP', message: /it calls a function/ });
  t.strictSame(state(), before);

  // The list refuses: no filter is changed.
  writeFileSync(join(lists.pod, 'devices.deny'), 'c 1:5 rwm');
  const refusing = state();
  t.throws(() => devices.allow(zero), { code: 'ECGROUP', message: /devices\.allow/ });
  t.strictSame(state(), refusing);
});

t.test('cgroups that are gone take their rules along', { skip: skipV1 }, async (t) => {
  const [list, filter] = [podCgroup(t, 'v1', randomUUID()), podCgroup(t, 'v2', randomUUID())];
  using devices = openPodDevices([list.container, filter.container, filter.pod]);
  t.strictSame(devices.directories, [list.container, filter.container, filter.pod]);
  list.write('devices.deny', 'a');
  attach(filter.pod, deviceProgram([nullDevice]), BPF_F_ALLOW_MULTI);
  const before = attached(filter.pod);
  devices.allow(zero);
  rmdirSync(list.container);
  rmdirSync(filter.container);
  devices.withdraw(zero);
  t.strictSame(attached(filter.pod), before, 'from what is there it is withdrawn');
  using left = openPodDevices([list.container, filter.container, filter.pod]);
  t.strictSame(left.directories, [filter.pod]);
});

t.test('one cgroup that fails keeps no other from being tried', { skip: skipV1 }, async (t) => {
  const [list, filter] = [podCgroup(t, 'v1', randomUUID()), podCgroup(t, 'v2', randomUUID())];
  list.write('devices.deny', 'a');
  using devices = openPodDevices([filter.container, list.container]);
  devices.allow(zero);
  attach(filter.container, Buffer.concat([prefix(zero), callingProgram()]), BPF_F_ALLOW_MULTI);
  t.throws(() => devices.withdraw(zero), { code: 'ECGROUP', message: /it calls a function/ });
  t.equal(list.read('devices.list'), '');
});

t.test('of a process in a list, and what it lacked', { skip: skipV1 }, async (t) => {
  const uid = randomUUID();
  const cgroup = podCgroup(t, 'v1', uid);
  cgroup.write('devices.deny', 'a');
  for (const rule of ['c 1:3 rwm', 'c 1:5 r']) cgroup.write('devices.allow', rule);
  const before = cgroup.read('devices.list');
  const { process } = await processIn(t, cgroup.container);
  t.match(readFileSync(`/proc/${process.pid}/cgroup`, 'utf8'), `/pod${uid}/compute`);
  using devices = findPodDevices(process, uid);
  const access = devices.missing(zero) ?? '';
  t.equal(access, 'wm');
  t.equal(devices.allow(zero).isNew, true);
  t.equal(devices.has(zero), true);
  t.equal(devices.isDecidedAbove, false);
  devices.withdraw({ ...zero, access });
  t.equal(cgroup.read('devices.list'), before);
});
