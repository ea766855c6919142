import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const skip = skipUnless('root', 'unshare');

/** What the scripts below have in common: they run in a pid namespace of their own, where pids can be chosen. */
const prelude = `
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { writeFileSync } from 'node:fs';
  const kernel = ${JSON.stringify(join(import.meta.dirname, '../../src/kernel'))};
  const { Descriptor } = await import(kernel + '/descriptor.ts');
  const { pidfdOpen } = await import(kernel + '/pidfd.ts');
  const { ProcessHandle } = await import(kernel + '/process-handle.ts');
  const { holdsListeningSocket } = await import(kernel + '/listening-socket.ts');
  const { socketPeer } = await import(kernel + '/socket-peer.ts');

  /** Another process under the pid of one that has ended; threads of this one may get it first. */
  async function reuse(pid) {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      writeFileSync('/proc/sys/kernel/ns_last_pid', String(pid - 1));
      const child = spawn('sleep', ['60']);
      if (child.pid === pid) return child;
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    throw new Error('the pid was never given again');
  }

  const outcomes = {};
  async function attempt(name, action) {
    try {
      const result = await action();
      outcomes[name] = result === undefined ? 'done' : String(result);
    } catch (error) {
      outcomes[name] = error.code;
    }
  }`;

/** @returns what the script's attempts came to: values, or codes of errors */
function inPidNamespace(t: Test, script: string): Record<string, string> {
  const whole = `${prelude}${script}
    console.log(JSON.stringify(outcomes));
    process.exit();`;
  const { stdout, stderr } = spawnSync(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
      ...[process.execPath, '--input-type=module', '-e', whole],
    ],
    { encoding: 'utf8', timeout: 20_000 },
  );
  t.equal(stderr, '');
  return JSON.parse(stdout) as Record<string, string>;
}

t.test('a process that is held is not taken for the next one with its pid', { skip }, async (t) => {
  const outcomes = inPidNamespace(
    t,
    `
    const first = spawn('sleep', ['60']);
    await once(first, 'spawn');
    const handle = new ProcessHandle(first.pid, pidfdOpen(first.pid));
    await attempt('before', () => handle.read('comm').toString().trim());
    first.kill('SIGKILL');
    await once(first, 'close');
    const pidfd = pidfdOpen(process.pid);
    await reuse(first.pid);
    await attempt('alive', () => handle.isAlive);
    await attempt('read', () => handle.read('comm'));
    await attempt('root', () => handle.root());
    await attempt('namespace', () => handle.mountNamespace());
    await attempt('anew', () => new ProcessHandle(first.pid, pidfdOpen(first.pid)).read('comm').toString().trim());`,
  );
  t.strictSame(outcomes, {
    before: 'sleep',
    alive: 'false',
    read: 'ESRCH',
    root: 'ESRCH',
    namespace: 'ESRCH',
    anew: 'sleep',
  });
});

t.test('a socket that outlives the process that listened', { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  // The listener's child has the socket and keeps it open: it accepts, but its pid is that of a dead process.
  const listener = `
    process.chdir(process.argv[1]);
    const server = require('net').createServer().listen('socket', () => {
      require('child_process').spawn('sleep', ['60'], {
        stdio: ['ignore', 'ignore', 'ignore', server._handle.fd], detached: true,
      }).unref();
      console.log('up');
    });`;
  const outcomes = inPidNamespace(
    t,
    `
    const first = spawn(process.execPath, ['-e', ${JSON.stringify(listener)}, ${JSON.stringify(directory)}]);
    await once(first.stdout, 'data');
    const socket = Descriptor.open(${JSON.stringify(join(directory, 'socket'))}, 0o10000000);
    const listens = () => holdsListeningSocket(new ProcessHandle(first.pid, pidfdOpen(first.pid)));
    await attempt('listens before', listens);
    await attempt('before', async () => (await socketPeer(socket, 'socket', 1000)).credentials.pid === first.pid);
    first.kill('SIGKILL');
    await once(first, 'close');
    await attempt('ended', () => socketPeer(socket, 'socket', 1000));
    await reuse(first.pid);
    await attempt('reused', () => socketPeer(socket, 'socket', 1000));
    await attempt('listens then', listens);`,
  );
  t.strictSame(outcomes, {
    'listens before': 'true',
    before: 'true',
    ended: 'ESRCH',
    reused: 'ESRCH',
    'listens then': 'false',
  });
});
