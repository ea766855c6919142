import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import t from 'tap';
import { MountTable } from '../../src/kernel/mount-table.ts';
import { parseMountinfo, readMountinfo } from '../../src/kernel/mountinfo.ts';
import { bytesFromPath, pathFromBytes } from '../../src/kernel/path-bytes.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const parse = (text: string | Buffer) => parseMountinfo(Buffer.from(text));

t.test('every field, as proc_pid_mountinfo(5) has it', async (t) => {
  const [entry] = parse(
    '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n',
  );
  t.strictSame(entry, {
    id: 36,
    parentId: 35,
    major: 98,
    minor: 0,
    root: '/mnt1',
    mountPoint: '/mnt2',
    options: ['rw', 'noatime'],
    optionalFields: new Map([['master', '1']]),
    fsType: 'ext3',
    source: '/dev/root',
    superOptions: ['rw', 'errors=continue'],
  });
});

t.test('optional fields of any number, the separator', async (t) => {
  const tags = (fields: string) => [
    ...(parse(`1 2 0:3 / /m rw${fields} - tmpfs none rw\n`)[0]?.optionalFields ?? []),
  ];
  t.strictSame(tags(''), []);
  t.strictSame(tags(' shared:7'), [['shared', '7']]);
  t.strictSame(tags(' shared:7 master:2 propagate_from:3 unbindable future:a:b'), [
    ['shared', '7'],
    ['master', '2'],
    ['propagate_from', '3'],
    ['unbindable', ''],
    ['future', 'a:b'],
  ]);
  t.equal(
    parse('1 2 0:3 - - rw - tmpfs - rw\n')[0]?.mountPoint,
    '-',
    'a hyphen before is no separator',
  );
  t.equal(parse('1 2 0:3 / /m rw - fuse.sshfs user@host:/x - rw\n')[0]?.source, 'user@host:/x');
});

t.test('octal escapes, and bytes that are not UTF-8', async (t) => {
  const point = (field: string | Buffer) =>
    parse(
      Buffer.concat([
        Buffer.from('1 2 0:3 / '),
        Buffer.from(field),
        Buffer.from(' rw - tmpfs none rw\n'),
      ]),
    )[0]?.mountPoint;
  t.equal(point('/a\\040b\\011c\\012d\\134e\\043f'), '/a b\tc\nd\\e#f');
  t.equal(point('/\\134040'), '/\\040', 'an escaped backslash begins no escape');
  t.equal(point('/gr\u00fc\u00dfe'), '/gr\u00fc\u00dfe');
  const bytes = Buffer.from([0x2f, 0xff, 0x80, 0x41, 0xc3]);
  const path = point(bytes);
  t.strictSame(bytesFromPath(path ?? ''), bytes, 'nothing is lost');
  t.not(path, pathFromBytes(Buffer.from([0x2f, 0xfe, 0x80, 0x41, 0xc3])));
  t.strictSame(
    bytesFromPath('/\u{1f5b4}'),
    Buffer.from('/\u{1f5b4}'),
    'a pair of surrogates is no byte',
  );
});

t.test('a comma within a super option is no end of it', async (t) => {
  const options = (field: string) =>
    parse(`1 2 0:3 / /m rw - overlay o ${field}\n`)[0]?.superOptions;
  t.strictSame(options('rw,lowerdir=a\\134\\054b:c\\134:d,upperdir=e\\040f'), [
    'rw',
    'lowerdir=a\\,b:c\\:d',
    'upperdir=e f',
  ]);
  t.strictSame(options('rw,name=with space,x'), ['rw', 'name=with space', 'x']);
  t.equal(parse('1 2 0:3 / /m rw - tmpfs  rw\n')[0]?.source, '', 'a source may be empty');
});

t.test('lines of any length, tables of any size', async (t) => {
  const long = `/${'x'.repeat(3_000_000)}`;
  t.equal(parse(`1 2 0:3 / ${long} rw - overlay none lowerdir=${long}\n`)[0]?.mountPoint, long);
  const many = '1 2 0:3 / /m rw shared:1 - tmpfs none rw\n'.repeat(50_000);
  t.equal(parse(many).length, 50_000);
  t.strictSame(parse(''), []);
});

t.test('what is no line of mountinfo is refused', async (t) => {
  for (const line of [
    'x',
    '1 2 0:3 / /m rw tmpfs none rw',
    '1 2 0-3 / /m rw - tmpfs none rw',
    'a 2 0:3 / /m rw - tmpfs none rw',
    '1 2 0:3 / /m rw - tmpfs',
  ]) {
    t.throws(() => parse(`${line}\n`), { name: 'MountinfoError', code: 'EMOUNTINFO' }, line);
  }
});

t.test('the table of this process', async (t) => {
  const table = readMountinfo('/proc/self');
  t.equal(table.length, readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n').length);
  const root = table.findLast(({ mountPoint }) => mountPoint === '/');
  const { dev } = statSync('/');
  t.equal(root?.major, (dev >> 8) & 0xfff);
  t.equal(root?.minor, (dev & 0xff) | ((dev >> 12) & 0xfff00));
});

t.test('only what is asked for', async (t) => {
  const lines = [
    '1 0 0:1 / / rw - overlay overlay rw',
    '2 1 0:2 / /pods/one/disks/disk_0.img ro - ext4 /dev/sda rw',
    '3 1 0:2 / /pods/one/disks/with\\040space ro - ext4 /dev/sda rw',
    '4 1 0:2 /pods/one/disks/x /elsewhere ro - ext4 /dev/sda rw',
    '5 1 0:3 / /pods/one/disks-of-others ro - tmpfs /pods/one/disks/ rw',
    '6 1 0:2 / /pods/o\\043e/disks/disk_0.img ro - ext4 /dev/sda rw',
    '7 1 0:2 / /pods/o#e/disks/disk_1.img ro - ext4 /dev/sda rw',
    '8 1 0:2 / /pods/ö/disk_1.img ro - ext4 /dev/sda rw',
    '10 7 0:2 /pods/one/disks/x /elsewhere ro - ext4 /dev/sda rw',
    '9 1 0:4 / /sys/fs/cgroup rw - cgroup2 - cgroup rw',
  ];
  for (const text of [lines.join('\n'), `${lines.join('\n')}\n`]) {
    const table = new MountTable(Buffer.from(text));
    const ids = (directory: string) => table.below(directory).map(({ id }) => id);
    t.strictSame(ids('/pods/one/disks'), [2, 3]);
    t.strictSame(ids('/pods/o#e'), [6, 7], 'before Linux 5.10 it is not escaped');
    t.strictSame(ids('/pods/ö'), [8]);
    t.strictSame(ids('/nothing'), []);
    t.strictSame(ids('/sys/fs'), [9], 'the last line');
    t.match(table.below('/pods/one/disks')[1], { mountPoint: '/pods/one/disks/with space' });
    t.strictSame(
      table.ofType('cgroup2').map(({ id }) => id),
      [9],
    );
    t.strictSame(table.ofType('cgroup'), [], 'a source is no type');
    t.equal(table.entries.length, lines.length);
    t.strictSame(
      table.at('/elsewhere').map(({ id }) => id),
      [4, 10],
      'the topmost last',
    );
    t.strictSame(table.at('/nothing'), []);
    const device = { major: 0, minor: 2 };
    t.strictSame(
      table.ofFileSystem(device).map(({ id }) => id),
      [2, 3, 4, 6, 7, 8, 10],
    );
    t.strictSame(table.ofFileSystem({ major: 2, minor: 0 }), []);
    t.strictSame(table.mountPointsOf(device, '/pods/one/disks/x'), ['/elsewhere'], 'once');
    t.equal(table.mountPointsOf(device, '/').length, 5);
    t.strictSame(table.mountPointsOf(device, '/pods'), []);
  }
});

t.test(
  'a mount with every odd byte in its path',
  { skip: skipUnless('root', 'unshare') },
  async (t) => {
    const directory = temporaryDirectory(t);
    const name = Buffer.concat([Buffer.from(' \t\n\\#\u00e9 '), Buffer.from([0xff, 0xfe])]);
    const path = Buffer.concat([Buffer.from(`${directory}/`), name]);
    mkdirSync(path);
    // In a mount namespace of its own, which goes with the process.
    const { stdout } = spawnSync('unshare', [
      '--mount',
      'sh',
      '-c',
      'cd "$1"; mount -t tmpfs "odd source" ./*; cat /proc/self/mountinfo',
      'sh',
      directory,
    ]);
    const entry = parseMountinfo(stdout).at(-1);
    t.strictSame(bytesFromPath(entry?.mountPoint ?? ''), path);
    t.equal(entry?.source, 'odd source');
    t.equal(entry?.fsType, 'tmpfs');
  },
);

t.test('agrees with findmnt', { skip: skipUnless('root') }, async (t) => {
  const { filesystems } = JSON.parse(
    execFileSync(
      'findmnt',
      ['--json', '--list', '--kernel', '-o', 'ID,PARENT,MAJ:MIN,TARGET,FSTYPE,VFS-OPTIONS'],
      { encoding: 'utf8' },
    ),
  ) as { filesystems: Record<string, string | number>[] };
  const table = new Map(readMountinfo('/proc/self').map((entry) => [entry.id, entry]));
  t.ok(filesystems.length > 3);
  for (const found of filesystems) {
    const entry = table.get(Number(found['id']));
    if (entry === undefined) continue;
    t.equal(entry.parentId, Number(found['parent']));
    t.equal(`${entry.major}:${entry.minor}`, String(found['maj:min']).trim());
    t.equal(entry.mountPoint, found['target']);
    t.equal(entry.fsType, found['fstype']);
    t.equal(entry.options.join(','), found['vfs-options']);
  }
});
