import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

/** A process that listens on sockets of a directory and never accepts: their backlogs are full. */
async function deaf(t: Test, directory: string, count: number) {
  const script = `process.chdir(process.argv[1]);
    const net = require('net');
    let open = 0;
    for (let index = 0; index < Number(process.argv[2]); index += 1) {
      const path = 'disk_' + index + '.sock';
      net.createServer().listen({ path, backlog: 1 }, () => {
        open += 1;
        if (open < Number(process.argv[2])) return;
        console.log('up');
        process.kill(process.pid, 'SIGSTOP');
      });
    }`;
  const child = spawn(process.execPath, ['-e', script, directory, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const before = process.cwd();
  process.chdir(directory);
  for (let index = 0; index < count; index += 1) {
    for (let client = 0; client < 3; client += 1) {
      const connection = connect(`disk_${index}.sock`).on('error', () => {});
      t.teardown(() => connection.destroy());
    }
  }
  process.chdir(before);
}

t.test('sockets that never accept hold nobody up', { skip: skipUnless('root') }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  await deaf(t, pod.emptyDir('container-disks'), 100);
  const mounter = node.mounter();
  const timed = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
    const start = performance.now();
    return [await work(), performance.now() - start];
  };

  const [listing, listed] = await timed(() => mounter.list());
  t.equal(listing.sockets.length, 100);
  t.match(listing.sockets.at(-1), { volume: 'disk_99', reason: /its backlog is full/ });
  t.ok(listed < 5000, `listed in ${listed.toFixed(0)} ms`);

  const instance = vmi({ uid: node.uid(), pods: [pod.uid] });
  const [ready, looked] = await timed(() => mounter.ready(instance, { timeout: 1000 }));
  t.match(ready, [{ ready: false, reason: /its backlog is full/ }]);
  t.ok(looked < 2500, `looked in ${looked.toFixed(0)} ms`);
  const [, once_] = await timed(() => mounter.ready(instance, { timeout: 0 }));
  t.ok(once_ < 1500, `looked once in ${once_.toFixed(0)} ms`);

  const controller = new AbortController();
  const aborted = mounter.list({ signal: controller.signal });
  controller.abort(new Error('enough'));
  await t.rejects(aborted, { message: 'enough' });
});
