import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { manifest, TestNode } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

function run(argv: readonly string[], input = '') {
  return spawnSync(process.execPath, [command, ...argv], { encoding: 'utf8', input });
}

t.test('help, version and what cannot be', async (t) => {
  t.match(run(['--version']), { status: 0, stdout: `${packageJson.version}\n` });
  const { status, stdout } = run(['--help']);
  t.equal(status, 0);
  for (const word of [
    'list',
    'inspect',
    'ready',
    'mount',
    'unmount',
    'checksum',
    'verify',
    'gc',
    '--host-root',
    '--kubelet-dir',
    '--state-dir',
    '--host-mount-namespace',
    '--owner',
    '--strategy',
    '--log-format',
  ]) {
    t.match(stdout, word);
  }
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'd'));
  writeFileSync(join(directory, 'broken.json'), '{"kind": ');
  writeFileSync(
    join(directory, 'wrong.json'),
    JSON.stringify(manifest({ uid: 'a/../../name', pods: [] })),
  );
  for (const [argv, message] of [
    [['mount'], /^container-disk-mounter: error: required option '-f, --filename <file>'/],
    [['mount', '-f', join(directory, 'nothing')], /error: .*no such file.*nothing/i],
    [['mount', '-f', join(directory, 'd')], /error: .*\/d: cannot be read: EISDIR/],
    [['mount', '-f', join(directory, 'broken.json')], /error: .*broken\.json/],
    [['mount', '-f', join(directory, 'wrong.json')], /metadata\.uid/],
    [['--owner', 'qemu', 'list'], /It is not UID:GID/],
    [['--owner', '4294967295:107', 'list'], /A uid or gid is at most 4294967294/],
    [['--owner', '107:9999999999', 'list'], /A uid or gid is at most 4294967294/],
    [['--owner', '99999999999:1', 'list'], /It is not UID:GID/],
    [['-o', 'xml', 'list'], /Allowed choices are table, json, yaml/],
    [['ready', '--timeout', 'soon', '-f', '-'], /It is no duration/],
    [['--state-dir', '', 'list'], /--state-dir <dir>.* It is empty/],
    [['--kubelet-dir', '', 'list'], /--kubelet-dir <dir>.* It is empty/],
    [['--host-root', '', 'list'], /--host-root <dir>.* It is empty/],
    [['--host-mount-namespace', '', 'list'], /--host-mount-namespace <path>.* It is empty/],
    [['explode'], /unknown command 'explode'/],
    [['inspect', join(directory, 'nothing.sock')], /ENOENT/],
  ] as const) {
    const { status, stdout, stderr } = run(argv);
    t.equal(status, 1, argv.join(' '));
    t.match(stdout + stderr, message);
    t.notMatch(stderr, /^\s+at /m, 'no stack');
  }
});

t.test('the commands in order', { skip: skipUnless('root', 'unshare', 'setpriv') }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const image = node.image('disk', {
    'disk/disk.img': 'disk'.repeat(1024),
    'boot/k': 'kernel',
    'boot/i': 'initrd',
  });
  const file = join(node.directories.root, 'vmi.yaml');
  const kernelBoot = { container: { kernelPath: '/boot/k', initrdPath: '/boot/i' } };
  const fields = {
    uid: node.uid(),
    pods: [pod.uid],
    spec: { domain: { firmware: { kernelBoot } } },
  };
  writeFileSync(file, JSON.stringify(manifest(fields)));
  const at = (...argv: string[]) => run([...node.arguments, ...argv]);

  const early = at('ready', '--timeout', '300ms', '-f', file);
  t.equal(early.status, 1);
  t.match(early.stdout, /no +- +.*disk_0\.sock +no socket .*disk_0\.sock yet/);

  await node.sidecar(image, emptyDir, ['disk_0', 'kernel-boot']);
  t.match(at('ready', '-f', file), { status: 0, stdout: /root +yes +\d+ +.*disk_0\.sock/ });
  const mount = at('-o', 'json', 'mount', '-f', file);
  t.equal(mount.status, 0, mount.stderr);
  t.match(JSON.parse(mount.stdout), [
    {
      namespace: 'default',
      uid: fields.uid,
      volumes: [
        {
          volume: 'root',
          kind: 'containerDisk',
          outcome: 'mounted',
          disk: { format: 'raw', virtualSize: 4096 },
        },
        { volume: 'kernel', outcome: 'mounted', target: join(emptyDir, 'kernel-boot/k') },
        { volume: 'initrd', outcome: 'mounted', target: join(emptyDir, 'kernel-boot/i') },
      ],
    },
  ]);
  const list = parse(at('-o', 'yaml', 'list').stdout);
  t.match(list.sockets, [
    { pod: pod.uid, volume: 'kernel-boot' },
    {
      pod: pod.uid,
      volume: 'disk_0',
      path: '/disk/disk.img',
      mountedAt: [join(emptyDir, 'disk_0.img')],
    },
  ]);
  t.match(at('inspect', join(emptyDir, 'disk_0.sock')), {
    status: 0,
    stdout: /\/disk\/disk\.img +raw +4 KiB/,
  });

  const sums = JSON.parse(at('-o', 'json', 'checksum', '-f', file).stdout)[0].volumes;
  t.strictSame(
    sums.map(({ volume }: { volume: string }) => volume),
    ['root', 'kernel', 'initrd'],
  );
  const withSums = (root: number) =>
    JSON.stringify(
      manifest({
        ...fields,
        status: {
          volumeStatus: [{ name: 'root', containerDiskVolume: { checksum: root } }],
          kernelBootStatus: {
            kernelInfo: { checksum: sums[1].checksum },
            initrdInfo: { checksum: sums[2].checksum },
          },
        },
      }),
    );
  writeFileSync(file, withSums(sums[0].checksum));
  t.match(at('verify', '-f', file), { status: 0, stdout: /root .* same/ });
  writeFileSync(file, withSums(sums[0].checksum + 1));
  const verify = at('--log-format', 'json', 'verify', '-f', file);
  t.equal(verify.status, 1);
  t.match(verify.stdout, /root .* failed/);

  const log = at('--log-format', 'json', '-v', 'unmount', '--all', '-f', file)
    .stderr.trim()
    .split('\n');
  t.match(
    log.map((line) => JSON.parse(line)),
    [
      { level: 'info', volume: /.+/, msg: /^unmounted .*/, time: /^\d{4}-/ },
      { level: 'info', msg: /^unmounted / },
      { level: 'info', msg: /^unmounted / },
    ],
  );
  t.strictSame(node.mounts(), []);
  t.match(at('gc'), { status: 0 });

  const both = JSON.stringify({
    kind: 'List',
    apiVersion: 'v1',
    items: [manifest({ uid: node.uid(), pods: [node.uid()] }), manifest(fields)],
  });
  const list2 = run([...node.arguments, 'mount', '-f', '-'], both);
  t.equal(list2.status, 1, 'the first has no pod');
  t.match(list2.stderr, /error: .*no launcher pod with a directory/);
  t.match(list2.stdout, /root +mounted/, 'and the second is mounted');
  t.equal(at('unmount', '--all', '-f', file).status, 0);
});

t.test(
  'gc takes away what pods that are gone have left',
  { skip: skipUnless('root', 'unshare', 'setpriv') },
  async (t) => {
    const node = new TestNode(t);
    const [gone, alive] = [node.pod(), node.pod()];
    const image = node.image('disk', { 'disk/disk.img': 'disk'.repeat(1024) });
    const ended = await node.sidecar(image, gone.emptyDir('container-disks'), ['disk_0']);
    await node.sidecar(image, alive.emptyDir('container-disks'), ['disk_0']);
    const files = [gone, alive].map((pod, index) => {
      const file = join(node.directories.root, `${index}.json`);
      writeFileSync(file, JSON.stringify(manifest({ uid: node.uid(), pods: [pod.uid] })));
      return file;
    });
    for (const file of files) t.equal(run([...node.arguments, 'mount', '-f', file]).status, 0);
    t.equal(node.mounts().length, 2);
    t.match(run([...node.arguments, 'gc']), { status: 0 });
    t.equal(node.mounts().length, 2, 'nothing of a pod that lives');
    ended.kill('SIGKILL');
    await ended.exit;
    const { status, stdout } = run([...node.arguments, 'gc']);
    t.equal(status, 0);
    t.match(stdout, new RegExp(`unmounted .*${gone.uid}`));
    t.strictSame(node.mounts(), [join(alive.emptyDir('container-disks'), 'disk_0.img')]);
  },
);

t.test('why there is no checksum', { skip: skipUnless('root') }, async (t) => {
  const node = new TestNode(t);
  const pod = node.pod();
  pod.emptyDir('container-disks');
  const file = join(node.directories.root, 'vmi.json');
  writeFileSync(file, JSON.stringify(manifest({ uid: node.uid(), pods: [pod.uid] })));
  for (const verb of ['checksum', 'verify']) {
    const { status, stderr } = run([...node.arguments, verb, '-f', file]);
    t.equal(status, 1);
    t.match(stderr, /^container-disk-mounter: error: root: no socket .*disk_0\.sock yet$/m);
  }
});
