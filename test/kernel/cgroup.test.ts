import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { cgroupDirectory, parseCgroup } from '../../src/kernel/cgroup.ts';
import { parseMountinfo, readMountinfo } from '../../src/kernel/mountinfo.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const unified = existsSync('/sys/fs/cgroup/unified') ? '/sys/fs/cgroup/unified' : '/sys/fs/cgroup';
const skip = skipUnless('root', 'unshare', 'cgroup2 mount');

/** Cgroups of the test's own, by their paths below one that is removed with them. */
function cgroups(t: Test, ...paths: string[]): string {
  const top = join(unified, basename(temporaryDirectory(t)));
  for (const path of paths) mkdirSync(join(top, path), { recursive: true });
  t.teardown(() => removeCgroup(top));
  return top;
}

function removeCgroup(directory: string): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(directory, entry.name));
  }
  rmdirSync(directory);
}

t.test('the lines of /proc/<pid>/cgroup', async (t) => {
  t.strictSame(
    parseCgroup('9:name=systemd:/\n4:cpu,cpuacct:/a:b/c d\n5:devices:/pod\n0::/../x (deleted)\n'),
    [
      { hierarchy: 9, controllers: ['name=systemd'], path: '/' },
      { hierarchy: 4, controllers: ['cpu', 'cpuacct'], path: '/a:b/c d' },
      { hierarchy: 5, controllers: ['devices'], path: '/pod' },
      { hierarchy: 0, controllers: [], path: '/../x (deleted)' },
    ],
  );
  t.strictSame(parseCgroup('nonsense\n\n'), []);
});

t.test('the directory of a cgroup, by the mounts that are there', async (t) => {
  const table = parseMountinfo(
    Buffer.from(
      [
        '1 0 0:1 /part /only-a-part rw - cgroup2 none rw',
        '2 0 0:1 / /sys/fs/cgroup/unified rw - cgroup2 none rw',
        '3 0 0:2 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
        '4 0 0:3 /docker/x /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices',
        '5 0 0:4 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n',
      ].join('\n'),
    ),
  );
  const directory = (line: string) => parseCgroup(line).map((each) => cgroupDirectory(each, table));
  for (const [line, expected] of [
    ['0::/pod/x', '/sys/fs/cgroup/unified/pod/x'],
    ['0::/', '/sys/fs/cgroup/unified'],
    ['0::/part/x', '/only-a-part/x'],
    ['0::/parts/x', '/sys/fs/cgroup/unified/parts/x'],
    ['4:cpu,cpuacct:/a', '/sys/fs/cgroup/cpu,cpuacct/a'],
    ['4:cpuset:/a', undefined],
    ['5:devices:/docker/x/y', '/sys/fs/cgroup/devices/y'],
    ['5:devices:/docker', undefined],
    ['5:devices:/docker/xy', undefined],
    ['9:name=systemd:/a', '/sys/fs/cgroup/systemd/a'],
    ['0::/../sibling', undefined],
    ['0::/..', undefined],
  ] as const) {
    t.strictSame(directory(line), [expected], line);
  }
});

t.test('of this process', async (t) => {
  const table = readMountinfo('/proc/self');
  const found = parseCgroup(readFileSync('/proc/self/cgroup', 'utf8')).map((membership) =>
    cgroupDirectory(membership, table),
  );
  t.ok(found.length > 0);
  for (const directory of found) {
    if (directory === undefined) continue;
    const pids = readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n');
    t.ok(pids.includes(String(process.pid)), directory);
  }
});

t.test('from another cgroup namespace', { skip }, async (t) => {
  const top = cgroups(t, 'ours/inner', 'ours/child', 'theirs');
  const script = `
    inside() { echo $$ > "$1/$2/cgroup.procs"; }
    inside "$0" ours/inner
    exec unshare --cgroup sh -c '
      for name in theirs ours/child ours/inner; do
        sh -c "echo \\$\\$ > $0/$name/cgroup.procs; cat /proc/self/cgroup" | grep ^0:
      done
      cat /proc/self/mountinfo' "$0"`;
  const { stdout } = spawnSync('sh', ['-c', script, top], { encoding: 'utf8' });
  const [theirs = '', child = '', own = '', ...mounts] = stdout.split('\n');
  t.equal(theirs, '0::/../../theirs');
  t.equal(child, '0::/../child');
  t.equal(own, '0::/');
  const table = parseMountinfo(Buffer.from(mounts.join('\n')));
  t.match(
    table.find(({ fsType }) => fsType === 'cgroup2'),
    { root: '/../../..' },
  );
  for (const line of [theirs, child, own]) {
    t.strictSame(
      parseCgroup(line).map((membership) => cgroupDirectory(membership, table)),
      [undefined],
      `${line}: the names between cannot be known`,
    );
  }
  // A mount of a part, of which both are below as the namespace has them.
  const part = table.map((each) => ({ ...each, root: '/../..', mountPoint: '/part' }));
  t.strictSame(
    parseCgroup(theirs).map((membership) => cgroupDirectory(membership, part)),
    ['/part/theirs'],
  );
});
