import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { O_PATH } from '../../src/kernel/open-flags.ts';
import { isAlive, pidfdOpen } from '../../src/kernel/pidfd.ts';
import { ProcessHandle } from '../../src/kernel/process-handle.ts';
import { socketPeer } from '../../src/kernel/socket-peer.ts';
import { connectDescriptor } from '../../src/kernel/unix-socket.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Descriptors of sockets' paths, of directories of /proc and of processes. */
function held(): string[] {
  const targets = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return [];
    }
  });
  return targets.filter(
    (target) =>
      /pidfd|\/socket$|^\/proc\/\d+$/.test(target) && target !== `/proc/${process.pid}/fd`,
  );
}

/** A process that listens on `socket` in a directory; `accept` false leaves its backlog to fill up. */
async function listener(t: Test, directory: string, backlog = 511) {
  const script = `process.chdir(process.argv[1]);
    const server = require('net').createServer((c) => c.destroy());
    server.listen({ path: 'socket', backlog: Number(process.argv[2]) }, () => {
      console.log('up');
      if (process.argv[2] === '0') process.kill(process.pid, 'SIGSTOP');
    });`;
  const child = spawn(process.execPath, ['-e', script, directory, String(backlog)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

t.test('the process behind a socket, however long its path', async (t) => {
  let directory = temporaryDirectory(t);
  while (directory.length < 300) directory = join(directory, 'd'.repeat(40));
  mkdirSync(directory, { recursive: true });
  const child = await listener(t, directory);
  {
    using socket = Descriptor.open(join(directory, 'socket'), O_PATH);
    const { credentials, process: peer } = await socketPeer(socket, 'socket', 1000);
    using held = peer;
    t.strictSame(credentials, { pid: child.pid, uid: process.getuid?.(), gid: process.getgid?.() });
    t.ok(held.isAlive);
    t.match(held.read('cmdline').toString(), 'socket');
    child.kill('SIGKILL');
    await once(child, 'close');
    t.notOk(held.isAlive);
    t.throws(() => held.read('mountinfo'), { code: 'ESRCH' });
    t.throws(() => held.root(), { code: /ESRCH|ENOENT/ });
    await t.rejects(socketPeer(socket, 'socket', 1000), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
      path: 'socket',
    });
  }
  t.strictSame(held(), [], 'no descriptor is left open');
});

t.test('a backlog that is full does not hold anybody up', async (t) => {
  const directory = temporaryDirectory(t);
  await listener(t, directory, 0);
  using socket = Descriptor.open(join(directory, 'socket'), O_PATH);
  const held: Descriptor[] = [];
  t.teardown(() => held.map((each) => each[Symbol.dispose]()));
  t.throws(
    () => {
      for (let count = 0; count < 1000; count += 1) held.push(connectDescriptor(socket, 'socket'));
    },
    { code: 'EAGAIN' },
  );
  const start = performance.now();
  await t.rejects(socketPeer(socket, '/p/socket', 200), {
    name: 'NotAcceptingError',
    code: 'ETIMEDOUT',
    message: '/p/socket has accepted no connection for 200 ms: its backlog is full',
  });
  t.ok(performance.now() - start < 2000);
});

t.test(
  'a process that cannot be seen from here',
  { skip: skipUnless('root', 'unshare') },
  async (t) => {
    const directory = temporaryDirectory(t);
    const server = createServer().listen(join(directory, 'socket'));
    await once(server, 'listening');
    t.teardown(() => server.close());
    const script = `
    import { Descriptor } from ${JSON.stringify(join(import.meta.dirname, '../../src/kernel/descriptor.ts'))};
    import { socketPeer } from ${JSON.stringify(join(import.meta.dirname, '../../src/kernel/socket-peer.ts'))};
    using socket = Descriptor.open(${JSON.stringify(join(directory, 'socket'))}, 0o10000000);
    await socketPeer(socket, 'socket', 1000).catch((error) => console.log(error.code, error.message));`;
    const child = spawn(
      'unshare',
      [
        '--mount',
        '--pid',
        '--fork',
        '--mount-proc',
        process.execPath,
        '--input-type=module',
        '-e',
        script,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [output] = await once(child.stdout, 'data');
    t.match(String(output), /^EPIDNS the process behind socket has pid 0 here: .*hostPID: true/);
  },
);

t.test('pidfds', async (t) => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  using pidfd = pidfdOpen(pid);
  t.ok(isAlive(pidfd));
  child.kill('SIGKILL');
  await once(child, 'close');
  t.notOk(isAlive(pidfd));
  t.throws(() => pidfdOpen(pid), { code: 'ESRCH', syscall: 'pidfd_open' });
  t.throws(() => new ProcessHandle(pid, new Descriptor(pidfd.take())), {
    name: 'ProcessGoneError',
    code: 'ESRCH',
    message: `process ${pid} has ended`,
  });
  t.ok(execFileSync('true') !== undefined);
});
