import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IDaemonSet } from 'kubernetes-models/apps/v1';
import t, { type Test } from 'tap';
import { Container } from '../../scripts/demo/container.ts';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { example } from './example.ts';

const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

/** A host of the test's own: its process 1 and the mount namespace of that are what a pod with hostPID sees. */
async function host(t: Test, node: TestNode, bin: string): Promise<number> {
  const directories = {
    '/var/lib/kubelet': node.directories.kubelet,
    '/run/container-disk': join(node.directories.root, 'records'),
    '/usr/local/bin': bin,
    '/dev': '/dev',
  };
  for (const source of Object.values(directories)) mkdirSync(source, { recursive: true });
  const container = new Container({
    image: '/',
    scratch: node.directories.scratch(),
    argv: ['sh', '-c', 'echo up; exec sleep 600'],
    mounts: Object.entries(directories).map(([destination, source]) => ({ source, destination })),
    asRoot: true,
  });
  t.teardown(() => container[Symbol.asyncDispose]());
  while (!container.stdout.includes('up')) {
    if (container.ended) throw new Error(`the host did not start: ${container.stderr}`);
    await sleep(5);
  }
  if (container.pid === undefined) throw new Error('the host has no process');
  return container.pid;
}

/** Names of the programs that a process has started and that have not ended. */
function commandsOf(pid: string): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return children.flatMap((child) => {
    try {
      return readFileSync(`/proc/${child}/comm`, 'utf8').trim();
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

t.test(
  'the loop of the DaemonSet takes away what a pod has left',
  { skip: skipUnless('root', 'unshare', 'setpriv') },
  async (t) => {
    const node = new TestNode(t);
    // The record of a virtual machine whose pod is gone.
    const pod = node.pod();
    const emptyDir = pod.emptyDir('container-disks');
    const sidecar = await node.sidecar(node.image('disk', { 'disk/d.img': 'd' }), emptyDir, [
      'disk_0',
    ]);
    const gone = vmi({ uid: node.uid(), pods: [pod.uid] });
    t.match(await node.mounter().mount(gone), [{ outcome: 'mounted' }]);
    const name = `${gone.uid}.json`;
    const record = join(node.directories.root, 'records/mounts', name);
    mkdirSync(join(record, '..'), { recursive: true });
    copyFileSync(join(node.stateDirectory, name), record);
    await node.mounter().unmount(gone, { all: true });
    await sidecar[Symbol.asyncDispose]();

    const bin = join(node.directories.root, 'bin');
    mkdirSync(bin);
    writeFileSync(
      join(bin, 'container-disk-mounter'),
      `#!/bin/sh\nexec env -i ${process.execPath} ${command} "$@"\n`,
      { mode: 0o755 },
    );
    const { spec } = example('mounter-daemonset.yaml') as IDaemonSet;
    const [container] = spec?.template.spec?.containers ?? [];
    const pid = await host(t, node, bin);
    const enter = ['--target', String(pid), '--mount', '--pid', '--root', '--wd'];
    const argv = [...enter, ...(container?.command ?? []), ...(container?.args ?? [])];
    const loop = spawn('nsenter', argv, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    });
    const ended = once(loop, 'close');
    t.teardown(() => {
      if (loop.exitCode === null && loop.pid !== undefined) process.kill(-loop.pid, 'SIGKILL');
    });
    let output = '';
    for (const stream of [loop.stdout, loop.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    for (let attempt = 0; existsSync(record); attempt += 1) {
      if (attempt === 1000 || loop.exitCode !== null) throw new Error(`still there: ${output}`);
      await sleep(20);
    }
    // Once it sleeps it ends at once when the kubelet asks it to.
    while (!output.includes('\n')) await sleep(20);
    const shell = readFileSync(`/proc/${loop.pid}/task/${loop.pid}/children`, 'utf8').trim();
    while (!commandsOf(shell).includes('sleep')) await sleep(20);
    process.kill(Number(shell), 'SIGTERM');
    t.strictSame(await ended, [0, null]);
    t.notMatch(output, /error/i);
  },
);
