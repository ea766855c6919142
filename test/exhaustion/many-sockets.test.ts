import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { appears, knock, Run } from '../support/holder.ts';
import { TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Sockets that nobody listens on any more. */
const dead = `
  use Socket;
  chdir $ARGV[0] or die "chdir: $!";
  for (1 .. $ARGV[1]) {
    socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
    bind($socket, pack_sockaddr_un("disk_$_.sock")) or die "bind: $!";
  }
`;

const count = 4096;

t.test(
  'a pod with 4,096 sockets',
  { skip: skipUnless('root', 'unshare', 'setpriv') },
  async (t) => {
    const node = new TestNode(t);
    const pod = node.pod();
    const emptyDir = pod.emptyDir('container-disks');
    const image = node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) });
    const sidecar = await node.sidecar(image, emptyDir, ['disk_0']);
    execFileSync('perl', ['-e', dead, emptyDir, String(count)]);
    const mounter = node.mounter();
    const instance = vmi({ uid: node.uid(), pods: [pod.uid] });

    t.match(await mounter.ready(instance, { timeout: 0 }), [{ ready: true }]);
    t.match(await mounter.mount(instance), [{ outcome: 'mounted' }]);
    const { sockets } = await mounter.list();
    t.ok(sockets.length < 300, `${sockets.length} are listed`);
    t.ok(
      sockets.some(({ reason }) => /4,?097|more/.test(reason ?? '')),
      'and that there are more',
    );
    t.strictSame(await mounter.gc(), [], 'what has one that listens is not gone');
    t.equal(node.mounts().length, 1);

    sidecar.kill('SIGKILL');
    await sidecar.exit;
    t.match(await mounter.gc(), [{ outcome: 'unmounted' }], 'and what has none is');
    t.strictSame(node.mounts(), []);
    t.equal(readdirSync(emptyDir).length, count + 1, 'the sockets are the pod’s own');
  },
);

t.test('a holder of 1,000 sockets', async (t) => {
  const directory = temporaryDirectory(t);
  const paths = Array.from({ length: 1000 }, (_, index) => join(directory, `disk_${index}`));
  const run = new Run(
    t,
    paths.flatMap((path) => ['-c', path]),
  );
  await appears(`${paths.at(-1)}.sock`, run, 60_000);
  for (const path of [paths[0], paths[500], paths[999]]) {
    t.equal(await knock(`${path}.sock`), 'accepted');
  }
  const threads = /^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${run.pid}/status`, 'utf8'));
  t.ok(Number(threads?.[1]) < 10, 'they need no threads');
  for (const path of paths.slice(1)) rmSync(`${path}.sock`);
  t.equal(await knock(`${paths[0]}.sock`), 'accepted', 'the last is held');
  run.child.kill('SIGTERM');
  t.match(await run.ended, { code: 0 });
  t.strictSame(readdirSync(directory), []);
});
