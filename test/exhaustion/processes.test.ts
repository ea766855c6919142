import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { appears, knock, program, Run } from '../support/holder.ts';
import { MemoryCgroup } from '../support/memory-cgroup.ts';
import { PidsCgroup } from '../support/pids-cgroup.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { LimitedNode } from './limited-node.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');
const MiB = 1024 * 1024;

t.test('a mounter that may have too few threads', { skip }, async (t) => {
  const limited = await LimitedNode.start(t);
  const cgroup = new PidsCgroup(t);
  const codes = new Set<number | undefined>();
  // With less than six Node.js itself does not get as far as the first line of a script, and waits for ever.
  for (const limit of [6, 8, 10, 11, 12, 13, 14, 16, 20]) {
    const mount = limited.run(cgroup.command(limit), 'mount');
    codes.add(mount.code);
    if (mount.code === 1) t.match(mount.stderr, /cannot start a thread: EAGAIN/, mount.stderr);
    if (mount.code === undefined) t.equal(mount.signal, 'SIGABRT', 'the C++ part of Node.js');
    await limited.isAsReported(`mount with ${limit}`, mount);
  }
  t.ok(codes.has(0), 'enough at last');
  t.ok(codes.size > 1, 'too few at first');
});

t.test('a holder needs three threads', { skip: skipUnless('root') }, async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'disk_0');
  const command = [...new PidsCgroup(t).command(3), program];
  const run = new Run(t, ['-c', path], { command });
  await appears(`${path}.sock`, run);
  t.equal(await knock(`${path}.sock`), 'accepted');
  run.child.kill('SIGTERM');
  t.match(await run.ended, { code: 0, stderr: '' });
  t.strictSame(readdirSync(directory), []);
});

t.test('a mounter that is ended for want of memory', { skip }, async (t) => {
  const limited = await LimitedNode.start(t);
  let kills = 0;
  for (const limit of [32, 48, 64, 72, 80, 160]) {
    const cgroup = new MemoryCgroup(t, limit * MiB);
    const mount = limited.run(cgroup.command, 'mount');
    if (mount.signal === 'SIGKILL') kills += 1;
    if (mount.signal) t.ok(cgroup.oomKills > 0, `${limit} MiB: ended by the kernel`);
    if (limit === 160) t.equal(mount.code, 0, `${limit} MiB are enough`);
    await limited.isAsReported(`mount with ${limit} MiB`, mount);
  }
  t.ok(kills > 0, `killed ${kills} times`);
});
