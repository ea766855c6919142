import { readdirSync } from 'node:fs';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';
import { containerPid, readOnHost, startLauncher } from './disk-flow.ts';
import { contents } from './images.ts';
import { useMemory } from './memory-hog.ts';
import { startNode } from './node.ts';
import { startPod } from './runtime.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'containerd');

t.test('sidecars that the runtime starts again', { skip }, async (t) => {
  const node = await startNode(t);
  const { host } = node;
  const { launcher, file, targets, template } = await startLauncher(node, node.cri());
  const { uid } = launcher.directories;
  const sidecar = template.containers.find(({ name }) => name === 'volumeroot');
  if (sidecar === undefined) throw new Error('the pod has no sidecar');
  t.match(host.mounter('ready', '-f', file, '--timeout', '30s'), { status: 0 });
  t.match(host.mounter('mount', '-f', file), { status: 0 });
  let id = String(launcher.ids.get('volumeroot'));
  const cgroup = () => `pod${uid}/${id}`;

  const deaths = {
    SIGKILL: async () => process.kill(containerPid(cgroup()), 'SIGKILL'),
    'the OOM killer': async () => useMemory(cgroup(), sidecar.limits.memory),
  };
  let attempt = 0;
  for (const [name, die] of Object.entries(deaths)) {
    await t.test(`after ${name}`, async (t) => {
      await die();
      const { exitCode, reason } = await launcher.sandbox.ended(id);
      t.equal(exitCode, 137);
      if (name !== 'SIGKILL') t.equal(reason, 'OOMKilled');
      t.match(host.mounter('ready', '-f', file, '--timeout', '0s'), {
        status: 1,
        json: [{ volumes: [{ volume: 'root', ready: false }, { ready: true }, { ready: true }] }],
      });
      attempt += 1;
      const before = id;
      id = await launcher.sandbox.start(sidecar, attempt);
      t.match(host.mounter('ready', '-f', file, '--timeout', '30s'), { status: 0 });
      for (const [target, content] of targets) t.ok(readOnHost(node, target).equals(content));
      await launcher.sandbox.remove(before);
      for (const [target, content] of targets) t.ok(readOnHost(node, target).equals(content));
      t.match(host.mounter('mount', '-f', file), { status: 0, stderr: '' });
      for (const [target, content] of targets) t.ok(readOnHost(node, target).equals(content));
      t.equal(host.mounts('/var/lib/kubelet').length, targets.size, 'each is mounted once');
    });
  }
  t.match(host.mounter('unmount', '-f', file, '--all'), { status: 0, stderr: '' });
  t.same(host.mounts('/var/lib/kubelet'), []);
  await launcher.sandbox.stop();
});

t.test('a node that starts again', { skip }, async (t) => {
  const node = await startNode(t);
  const { host, containerd } = node;
  const { launcher, file, targets, template } = await startLauncher(node, node.cri());
  const { directories } = launcher;
  t.match(host.mounter('ready', '-f', file, '--timeout', '30s'), { status: 0 });
  t.match(host.mounter('mount', '-f', file), { status: 0 });

  await host.reboot();
  t.same(host.mounts('/var/lib/kubelet'), []);
  t.match(
    readdirSync(directories.emptyDir('container-disks')),
    /disk_0\.sock/,
    'the stale sockets are there',
  );
  await containerd.start();
  t.match(host.mounter('ready', '-f', file, '--timeout', '0s'), {
    status: 1,
    json: [{ volumes: [{ ready: false }, { ready: false }, { ready: false }] }],
  });
  t.match(host.mounter('gc'), { status: 0, stderr: '' });

  const again = await startPod(node.cri(), directories, template, 1);
  t.match(host.mounter('ready', '-f', file, '--timeout', '30s'), { status: 0 });
  t.match(host.mounter('mount', '-f', file), {
    status: 0,
    stderr: '',
    json: [{ volumes: [{ volume: 'root', outcome: 'mounted' }] }],
  });
  for (const [target, content] of targets) t.ok(readOnHost(node, target).equals(content));

  await again.sandbox.stop();
  t.ok(
    readOnHost(node, String([...targets.keys()][0])).equals(contents.root),
    'a mount outlives its sidecar',
  );
  t.match(host.mounter('gc'), { status: 0, stderr: '' });
  t.same(host.mounts('/var/lib/kubelet'), [], 'gc leaves no mount');
  t.same(
    readdirSync(host.outside('/run/container-disk/mounts')).filter((name) =>
      name.endsWith('.json'),
    ),
    [],
    'and no record',
  );
});
