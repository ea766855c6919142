import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import * as names from '../../src/kubevirt/entry-names.ts';
import { LauncherPod } from '../../src/kubevirt/launcher-pod.ts';
import { kubeVirtLayout, layoutWith } from '../../src/kubevirt/layout.ts';
import { isLabel, isUid } from '../../src/kubevirt/names.ts';
import { podPathText } from '../../src/kubevirt/pod-path.ts';
import { printable } from '../../src/kubevirt/printable.ts';
import { answer, fuzz } from '../support/fuzz.ts';

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: fc.constantFrom('.', '/', '\0', '-', '\n', 'a', '0', '\\'), maxLength: 300 }),
  label,
);

fuzz(t, 'names: what is written is read', fc.tuple(fc.nat(9_999_999), label), ([index, volume]) => {
  const disk = { kind: 'containerDisk', index };
  assert.deepEqual(names.parseSocketName(names.containerDiskSocketName(index)), disk);
  assert.deepEqual(names.parseContainerDiskTargetName(names.containerDiskTargetName(index)), disk);
  assert.deepEqual(names.parseSocketName(names.hotplugContainerDiskSocketName(volume)), {
    kind: 'hotplugContainerDisk',
    volume,
  });
  const target = { kind: 'hotplugVolume', volume };
  assert.deepEqual(names.parseHotplugTargetName(volume), target);
  assert.deepEqual(names.parseHotplugTargetName(names.hotplugImageName(volume)), target);
});

fuzz(
  t,
  'names: only what is written so is one',
  fc.tuple(
    fc.constantFrom('', 'disk_', 'hotplug-container-disk-'),
    hostile,
    fc.constantFrom('', '.sock', '.img'),
  ),
  ([head, middle, tail]) => {
    const name = `${head}${middle}${tail}`;
    const socket = names.parseSocketName(name);
    if (socket?.kind === 'containerDisk') {
      assert.equal(names.containerDiskSocketName(socket.index), name);
    }
    if (socket?.kind === 'hotplugContainerDisk') {
      assert.equal(names.hotplugContainerDiskSocketName(socket.volume), name);
    }
    const target = names.parseContainerDiskTargetName(name);
    if (target?.kind === 'containerDisk') {
      assert.equal(names.containerDiskTargetName(target.index), name);
    }
    const hotplug = names.parseHotplugTargetName(name);
    if (hotplug?.kind === 'hotplugVolume') {
      assert.ok([hotplug.volume, names.hotplugImageName(hotplug.volume)].includes(name));
      assert.ok(!/[/\0]|^\.+$/.test(hotplug.volume));
    }
  },
);

fuzz(
  t,
  'pod paths: a uid and a layout are single names, or refused',
  fc.tuple(hostile, hostile),
  ([uid, name]) => {
    const layout = answer(() => layoutWith({ containerDisks: name }), RangeError);
    assert.equal(layout !== undefined, isLabel(name));
    const pod = answer(() => new LauncherPod(uid, layout ?? kubeVirtLayout), RangeError);
    assert.equal(pod !== undefined, isUid(uid));
    if (pod === undefined) return;
    const parts = podPathText('/k', pod.containerDiskSocket(0)).split('/');
    const emptyDir = layout?.containerDisks ?? kubeVirtLayout.containerDisks;
    assert.deepEqual(parts.slice(0, 4), ['', 'k', 'pods', uid]);
    assert.deepEqual(parts.slice(4), [
      'volumes',
      'kubernetes.io~empty-dir',
      emptyDir,
      'disk_0.sock',
    ]);
  },
);

fuzz(
  t,
  'printable: one line, of a bounded length',
  fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 5000 })),
  (text) => {
    const shown = printable(text);
    assert.ok(!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(shown), JSON.stringify(shown));
    assert.ok(shown.length <= 201 * '\\u{10ffff}'.length);
  },
);
