import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { taskDirectory } from './containerd.ts';
import { contents, references } from './images.ts';
import type { Node } from './node.ts';
import { attachmentPod, launcherPod } from './pod.ts';
import { type RunningPod, type Runtime, startPod } from './runtime.ts';
import { virtualMachineInstance } from './virtual-machine-instance.ts';

const vmi = '11111111-2222-4333-8444-555555555555';
const disks = { root: references.root, data: references.data };

/** A launcher pod that runs, on a node, and what a mounter is told of it. */
export async function startLauncher(node: Node, runtime: Runtime) {
  const template = launcherPod(vmi, disks, references.kernelBoot);
  const launcher = await startPod(runtime, node.host.pod(), template);
  const machine = { uid: vmi, launcher: launcher.directories.uid };
  const file = node.write(virtualMachineInstance(machine));
  return { launcher, template, file, targets: targetsOf(node, launcher) };
}

/** Where the disks are to be, seen from outside, with what is in them. */
function targetsOf(node: Node, launcher: RunningPod): ReadonlyMap<string, Buffer> {
  const directory = launcher.directories.emptyDir('container-disks');
  return new Map(
    [
      [join(directory, 'disk_0.img'), contents.root],
      [join(directory, 'disk_1.img'), contents.data],
      [join(directory, 'kernel-boot/kernel'), contents.kernel],
      [join(directory, 'kernel-boot/initrd'), contents.initrd],
    ].map(([path, content]) => [node.host.inside(String(path)), content as Buffer]),
  );
}

/** What a path of the host reads as for its processes. */
export function readOnHost(node: Node, path: string): Buffer {
  return readFileSync(`/proc/${node.host.pid}/root${path}`);
}

/** Pid, here, of a container's process: what is seen through its root is what the container sees. */
export function containerPid(cgroup: string): number {
  const procs = ['pids', '.'].map((name) =>
    join('/sys/fs/cgroup', name, 'kubepods/burstable', cgroup, 'cgroup.procs'),
  );
  const found = procs.find(existsSync);
  if (found === undefined) throw new Error(`no cgroup ${cgroup}`);
  const [pid] = readFileSync(found, 'utf8').split('\n');
  return Number(pid);
}

/**
 * The whole way: a pod as kubelet and virt-controller make it, ready, list, mount, checksum, verify, hotplug of a
 * container disk, unmount, the end of the pod.
 */
export async function diskFlow(t: Test, node: Node, runtime: Runtime): Promise<void> {
  const { host } = node;
  const before = host.mounts('/var/lib/kubelet');
  const { launcher, file, targets } = await startLauncher(node, runtime);
  const uid = launcher.directories.uid;

  const ready = host.mounter('ready', '-f', file, '--timeout', '30s');
  t.match(ready, {
    status: 0,
    json: [{ volumes: [{ ready: true }, { ready: true }, { ready: true }] }],
  });

  const rootOf = (name: string) => `${taskDirectory}/${launcher.ids.get(name)}/rootfs`;
  t.match(
    host.mounter('list').json,
    {
      sockets: [
        { pod: uid, volume: 'kernel-boot', imageRoot: rootOf('kernel-boot') },
        { pod: uid, volume: 'disk_0', imageRoot: rootOf('volumeroot'), path: '/disk/root.img' },
        { pod: uid, volume: 'disk_1', imageRoot: rootOf('volumedata'), path: '/disk/data.img' },
      ],
    },
    'list shows where containerd has the images',
  );

  const mounted = { outcome: 'mounted' };
  t.match(host.mounter('mount', '-f', file), {
    status: 0,
    stderr: '',
    json: [{ volumes: [mounted, mounted, mounted, mounted] }],
  });
  for (const [target, content] of targets) t.ok(readOnHost(node, target).equals(content), target);
  const data = `/var/run/kubevirt-ephemeral-disks/container-disk-data/${vmi}`;
  const compute = containerPid(`pod${uid}/${launcher.ids.get('compute')}`);
  const seen = `/proc/${compute}/root${data}/disk_0.img`;
  t.ok(readFileSync(seen).equals(contents.root), 'the launcher sees the disk');
  const image = statSync(`/proc/${host.pid}/root${rootOf('volumeroot')}/disk/root.img`);
  t.match(statSync(seen), { ino: image.ino, dev: image.dev }, 'which is the file of the image');
  t.throws(() => host.run('sh', '-c', `: > ${[...targets.keys()][0]}`), /Read-only file system/);

  const { json } = host.mounter('checksum', '-f', file) as {
    json: { volumes: { volume: string; checksum: number }[] }[];
  };
  const checksums = Object.fromEntries(
    (json[0]?.volumes ?? []).map((each) => [each.volume, each.checksum]),
  );
  const machine = { uid: vmi, launcher: uid, checksums };
  t.match(host.mounter('verify', '-f', node.write(virtualMachineInstance(machine))), { status: 0 });
  const wrong = { ...machine, checksums: { ...checksums, data: 1 } };
  t.match(host.mounter('verify', '-f', node.write(virtualMachineInstance(wrong))), {
    status: 1,
    json: [{ volumes: [{ volume: 'root' }, { volume: 'data', error: Object }] }],
  });

  const attachment = await startPod(runtime, host.pod(), attachmentPod('extra', references.extra));
  const hotplugged = { ...machine, attachment: attachment.directories.uid };
  node.write(virtualMachineInstance(hotplugged));
  host.mounter('ready', '-f', file, '--timeout', '30s');
  t.match(host.mounter('mount', '-f', file), {
    status: 0,
    json: [{ volumes: [{}, {}, { volume: 'extra', outcome: 'mounted' }] }],
  });
  const extra = `/proc/${compute}/root/var/run/kubevirt/hotplug-disks/extra.img`;
  t.ok(
    readFileSync(extra).equals(contents.extra),
    'the launcher sees the disk that was hotplugged',
  );
  node.write(virtualMachineInstance(machine));
  t.match(host.mounter('unmount', '-f', file), {
    status: 0,
    json: [{ volumes: [{ volume: 'extra', outcome: 'unmounted' }] }],
  });
  t.notOk(existsSync(extra) && statSync(extra).size > 0, 'it is gone there, too');
  await attachment.sandbox.stop();

  t.match(host.mounter('unmount', '-f', file, '--all'), { status: 0, stderr: '' });
  t.match(host.mounter('unmount', '-f', file, '--all'), { status: 0, stderr: '' }, 'again');
  t.same(host.mounts('/var/lib/kubelet'), before, 'no mount is left');
  const sockets = readdirSync(launcher.directories.emptyDir('container-disks')).filter((name) =>
    name.endsWith('.sock'),
  );
  t.same(sockets, ['disk_0.sock', 'disk_1.sock', 'kernel-boot.sock']);
  await launcher.sandbox.stop();
  const left = readdirSync(launcher.directories.emptyDir('container-disks')).filter((name) =>
    name.endsWith('.sock'),
  );
  t.same(left, [], 'SIGTERM has removed the sockets');
  t.same(host.mounts(taskDirectory), [], 'no root is left');
}
