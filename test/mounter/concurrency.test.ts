import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { manifest, TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

t.test('two at once on one virtual machine', { skip }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  await node.sidecar(node.image('disk', { 'disk/disk.img': 'x'.repeat(512) }), emptyDir, [
    'disk_0',
  ]);
  const fields = { uid: node.uid(), pods: [pod.uid] };
  const file = join(node.directories.root, 'vmi.json');
  writeFileSync(file, JSON.stringify(manifest(fields)));
  const run = async (...verb: string[]) => {
    const child = spawn(process.execPath, [command, ...node.arguments, ...verb, '-f', file]);
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, 'close');
    return { code, stderr };
  };
  for (let round = 0; round < 4; round += 1) {
    const mounts = await Promise.all([run('mount'), run('mount'), run('mount')]);
    for (const { code, stderr } of mounts) t.equal(code, 0, stderr);
    t.strictSame(node.mounts(), [join(emptyDir, 'disk_0.img')], 'mounted once');
    const both = await Promise.all([run('unmount', '--all'), run('unmount', '--all')]);
    for (const { code, stderr } of both) t.equal(code, 0, stderr);
    t.strictSame(node.mounts(), []);
    t.strictSame(readdirSync(node.stateDirectory), []);
  }

  t.test('the second says what it waits for', async (t) => {
    const messages: string[] = [];
    const instance = vmi(fields);
    const { RecordStore } = await import('../../src/mounter/record-store.ts');
    const store = new RecordStore(node.stateDirectory, () => {});
    const held = await store.lock(instance.uid, undefined);
    const mounter = node.mounter({ onEvent: ({ message }) => messages.push(message) });
    const mounted = mounter.mount(instance);
    while (messages.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    t.match(messages[0], /^waiting for another run on this virtual machine \(.*\.lock\)$/);
    t.strictSame(node.mounts(), []);
    held[Symbol.dispose]();
    t.match(await mounted, [{ outcome: 'mounted' }]);
    await mounter.unmount(instance, { all: true });

    const again = await store.lock(instance.uid, undefined);
    const controller = new AbortController();
    const aborted = mounter.mount(instance, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await t.rejects(aborted, { message: 'enough' }, 'with the reason that the signal has');
    again[Symbol.dispose]();
  });
});

t.test('a hundred virtual machines at once', { skip, timeout: 120_000 }, async (t) => {
  const node = new TestNode(t);
  const image = node.image('disk', { 'disk/disk.img': 'x'.repeat(512) });
  // A process can hold many sockets: one stands for the sidecars of ten pods here, by a directory above theirs.
  const instances = [];
  for (let group = 0; group < 10; group += 1) {
    const pods = Array.from({ length: 10 }, () => node.pod());
    const mounts = pods.map((pod) => ({
      source: pod.emptyDir('container-disks'),
      destination: `/pods/${pod.uid}`,
    }));
    const [first] = pods;
    if (first === undefined) throw new Error('no pod');
    await node.sidecar(
      image,
      first.emptyDir('unused'),
      [],
      mounts,
      pods.map((pod) => `/pods/${pod.uid}/disk_0`),
    );
    for (const pod of pods) instances.push(vmi({ uid: node.uid(), pods: [pod.uid] }));
  }
  const mounter = node.mounter();
  for (const instance of instances)
    t.match(await mounter.ready(instance, { timeout: 5000 }), [{ ready: true }]);
  const start = performance.now();
  const reports = await Promise.all(instances.map((instance) => mounter.mount(instance)));
  t.comment(`${instances.length} mounted in ${(performance.now() - start).toFixed(0)} ms`);
  t.equal(reports.flat().filter(({ outcome }) => outcome === 'mounted').length, 100);
  t.equal(node.mounts().length, 100);
  t.equal(
    (await mounter.list()).sockets.filter(({ socket, mountedAt }) =>
      mountedAt.includes(socket.replace(/sock$/, 'img')),
    ).length,
    100,
  );
  await Promise.all(instances.map((instance) => mounter.unmount(instance, { all: true })));
  t.strictSame(node.mounts(), []);
  t.strictSame(readdirSync(node.stateDirectory), []);
});
