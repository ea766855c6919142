import t from 'tap';
import { AttachmentPod } from '../../src/kubevirt/attachment-pod.ts';
import {
  parseContainerDiskTargetName,
  parseHotplugTargetName,
  parseSocketName,
} from '../../src/kubevirt/entry-names.ts';
import { LauncherPod } from '../../src/kubevirt/launcher-pod.ts';
import { kubeVirtLayout, layoutWith } from '../../src/kubevirt/layout.ts';
import { type PodPath, podPathText } from '../../src/kubevirt/pod-path.ts';

const kubelet = '/var/lib/kubelet';
const text = (path: PodPath) => podPathText(kubelet, path);
const volumes = (uid: string) => `${kubelet}/pods/${uid}/volumes/kubernetes.io~empty-dir`;

t.test('a launcher pod', async (t) => {
  const pod = new LauncherPod('l-1');
  const paths: [PodPath, string][] = [
    [pod.containerDisks, 'container-disks'],
    [pod.containerDiskSocket(0), 'container-disks/disk_0.sock'],
    [pod.containerDiskSocket(12), 'container-disks/disk_12.sock'],
    [pod.containerDiskTarget(12), 'container-disks/disk_12.img'],
    [pod.kernelBootSocket, 'container-disks/kernel-boot.sock'],
    [pod.kernelBootDirectory, 'container-disks/kernel-boot'],
    [pod.kernelBootTarget('/boot/vmlinuz'), 'container-disks/kernel-boot/vmlinuz'],
    [pod.hotplugDisks, 'hotplug-disks'],
    [pod.hotplugImage('data'), 'hotplug-disks/data.img'],
    [pod.hotplugTarget('data'), 'hotplug-disks/data'],
    [pod.launcherSocket, 'sockets/launcher-sock'],
  ];
  for (const [path, expected] of paths) {
    t.equal(text(path), `${volumes('l-1')}/${expected}`);
    t.strictSame(path.directory.slice(0, 4), ['pods', 'l-1', 'volumes', 'kubernetes.io~empty-dir']);
    t.equal(path.directory.length, 5, 'the emptyDir ends what the kubelet made');
    t.notOk([...path.directory, ...path.entry].some((name) => name === '' || name.includes('/')));
  }
});

t.test('an attachment pod', async (t) => {
  const pod = new AttachmentPod('a-1');
  t.strictSame(pod.sockets.map(text), [
    `${volumes('a-1')}/hotplug-disks/hp.sock`,
    `${volumes('a-1')}/hp-disks/hp.sock`,
  ]);
  t.strictSame(pod.volumeDirectories('data').map(text), [
    `${volumes('a-1')}/hotplug-disks/data`,
    `${volumes('a-1')}/hp-disks/data`,
  ]);
  t.equal(
    text(pod.containerDiskSocket('cd')),
    `${volumes('a-1')}/hotplug-container-disks/hotplug-container-disk-cd.sock`,
  );
});

t.test('names of a platform', async (t) => {
  const layout = layoutWith({ containerDisks: 'cds', attachmentDisks: ['hpd'] });
  t.equal(text(new LauncherPod('u', layout).containerDisks), `${volumes('u')}/cds`);
  t.equal(text(new LauncherPod('u', layout).hotplugDisks), `${volumes('u')}/hotplug-disks`);
  t.strictSame(new AttachmentPod('u', layout).sockets.map(text), [`${volumes('u')}/hpd/hp.sock`]);
  t.strictSame(layoutWith({}), kubeVirtLayout);
  for (const name of ['', '.', '..', 'a/b', '/a', 'A', 'a\nb']) {
    t.throws(() => layoutWith({ hotplugDisks: name }), { name: 'RangeError' }, name);
    t.throws(() => layoutWith({ attachmentDisks: ['ok', name] }), { name: 'RangeError' }, name);
  }
  t.throws(() => layoutWith({ attachmentDisks: [] }), { name: 'RangeError' });
});

t.test('a uid that is no plain name', async (t) => {
  for (const uid of ['', '.', '..', '../..', 'a/b', 'a\0', 'a\n']) {
    t.throws(() => new LauncherPod(uid), { name: 'RangeError' }, JSON.stringify(uid));
    t.throws(() => new AttachmentPod(uid), { name: 'RangeError' }, JSON.stringify(uid));
  }
});

t.test('a kubelet directory with a slash at its end', async (t) => {
  t.match(podPathText('/k/', new LauncherPod('u').containerDisks), /^\/k\/pods\/u\//);
  t.match(podPathText('/', new LauncherPod('u').containerDisks), /^\/pods\/u\//);
});

t.test('names read back', async (t) => {
  const last = (path: PodPath) => path.entry.at(-1) ?? '';
  const launcher = new LauncherPod('u');
  const attachment = new AttachmentPod('u');
  for (const index of [0, 7, 10, 123]) {
    const owner = { kind: 'containerDisk', index };
    t.strictSame(parseSocketName(last(launcher.containerDiskSocket(index))), owner);
    t.strictSame(parseContainerDiskTargetName(last(launcher.containerDiskTarget(index))), owner);
  }
  t.strictSame(parseSocketName(last(launcher.kernelBootSocket)), { kind: 'kernelBoot' });
  t.strictSame(parseContainerDiskTargetName(last(launcher.kernelBootDirectory)), {
    kind: 'kernelBoot',
  });
  for (const path of attachment.sockets)
    t.strictSame(parseSocketName(last(path)), { kind: 'hotplugPod' });
  for (const volume of ['a', 'x-1', 'a'.repeat(63)]) {
    t.strictSame(parseSocketName(last(attachment.containerDiskSocket(volume))), {
      kind: 'hotplugContainerDisk',
      volume,
    });
    const owner = { kind: 'hotplugVolume', volume };
    t.strictSame(parseHotplugTargetName(last(launcher.hotplugImage(volume))), owner);
    t.strictSame(parseHotplugTargetName(last(launcher.hotplugTarget(volume))), owner);
  }
});

t.test('names that are nobody’s', async (t) => {
  for (const name of [
    '',
    '.',
    '..',
    'disk_.sock',
    'disk_00.sock',
    'disk_01.sock',
    'disk_-1.sock',
    'disk_1e3.sock',
    'disk_12345678.sock',
    'disk_0.sock ',
    'disk_0.sock\n',
    'disk_0',
    'disk_0.img',
    'xdisk_0.sock',
    '.disk_0.sock',
    'hotplug-container-disk-.sock',
    'hotplug-container-disk-A.sock',
    'hotplug-container-disk-a.b.sock',
    'hotplug-container-disk-..sock',
    'kernel-boot',
    'hp.sock2',
    `hotplug-container-disk-${'a'.repeat(64)}.sock`,
  ]) {
    t.equal(parseSocketName(name), undefined, JSON.stringify(name));
  }
  for (const name of [
    '',
    '..',
    'disk_0.sock',
    'disk_00.img',
    'disk_0.img.img',
    'kernel-boot.sock',
  ]) {
    t.equal(parseContainerDiskTargetName(name), undefined, JSON.stringify(name));
  }
  for (const name of ['', '.', '..', '.img', 'hp.sock', 'A', 'a/b', 'a.img.img', 'a\n']) {
    t.equal(parseHotplugTargetName(name), undefined, JSON.stringify(name));
  }
});
