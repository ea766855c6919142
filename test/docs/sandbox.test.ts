import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';

const script = join(import.meta.dirname, '../../scripts/sandbox.ts');
const skip = skipUnless('root', 'unshare', 'setpriv', 'losetup');

function isGone(pod: string): boolean {
  const root = pod.replace(/\/var\/lib\/kubelet.*/, '');
  return (
    /container-disk-demo-\w+$/.test(root) &&
    !existsSync(root) &&
    !readFileSync('/proc/self/mountinfo', 'utf8').includes(root)
  );
}

t.test('the exit code is that of the command, and nothing is left', { skip }, async (t) => {
  const mountAndFail = 'echo $POD; container-disk-mounter mount -f vmi-hotplugged.yaml >&2; exit 3';
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [script, 'running', 'sh', '-c', mountAndFail],
    { encoding: 'utf8' },
  );
  t.equal(status, 3);
  t.match(stderr, /block +mounted/);
  t.ok(isGone(stdout.trim()), stdout);
});

t.test('nothing is left when it is told to end', { skip }, async (t) => {
  const child: ChildProcess = spawn(
    process.execPath,
    [script, 'terminating', 'sh', '-c', 'echo $POD; exec sleep 600'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = once(child, 'close');
  t.teardown(() => child.kill('SIGKILL'));
  if (child.stdout === null) throw new Error('no pipe');
  let pod = '';
  for await (const line of createInterface(child.stdout)) {
    pod = line;
    child.kill('SIGTERM');
  }
  t.strictSame(await ended, [1, null]);
  t.ok(isGone(pod), pod);
});

t.test('what there is', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, [script, 'nothing'], { encoding: 'utf8' });
  t.equal(status, 1);
  for (const name of ['running', 'stuck-in-starting', 'terminating', 'lost-access']) {
    t.match(stderr, new RegExp(`^ +${name} +[a-z]`, 'm'));
  }
});
