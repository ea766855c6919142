import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { OpenedFiles } from '../../scripts/image/opened-files.ts';
import { writeImage } from '../../scripts/image/output.ts';
import { parseReference } from '../../scripts/image/reference.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { tmpfs } from '../support/tmpfs.ts';
import { makeImage } from './make-image.ts';
import { ReadImage } from './read-image.ts';

const MiB = 1024 * 1024;
const script = join(import.meta.dirname, '../../scripts/image.ts');

/** A raw disk of random bytes. */
function rawDisk(directory: string, name = 'disk.img', size = MiB): string {
  const path = join(directory, name);
  writeFileSync(path, randomBytes(size));
  return path;
}

t.test('a raw disk', async (t) => {
  const directory = temporaryDirectory(t);
  const disk = rawDisk(directory, 'Fedora 42.img', 3 * MiB + 1);
  const layout = join(directory, 'image');
  const { status, stdout, stderr } = makeImage(['--disk', disk, '--output', layout]);
  t.equal(status, 0, stderr);
  const image = new ReadImage(layout);
  t.match(stdout, `docker.io/library/fedora-42:latest@${image.index.manifests[0]?.digest}`);
  const entries = await image.entries();
  t.strictSame([...entries.keys()], ['disk/', 'disk/Fedora 42.img']);
  t.match(entries.get('disk/')?.header, { type: 'directory', mode: 0o555, uid: 107, gid: 107 });
  const file = entries.get('disk/Fedora 42.img');
  t.match(file?.header, { type: 'file', mode: 0o440, uid: 107, gid: 107 });
  t.ok(file?.content.equals(readFileSync(disk)));
  t.match(image.config, { architecture: 'amd64', config: { User: '107:107' } });
  t.notMatch(image.config.config, { Entrypoint: /./ }, 'the program comes from the emptyDir');
});

t.test('a qcow2 disk', { skip: skipUnless('qemu-img') }, async (t) => {
  const directory = temporaryDirectory(t);
  const disk = join(directory, 'disk.qcow2');
  const converted = ['convert', '-O', 'qcow2', '-c', rawDisk(directory), disk];
  execFileSync('qemu-img', converted);
  const layout = join(directory, 'image');
  const name = 'registry.example/team/fedora:42';
  const options = ['--name', name, '--output', layout, '--architecture', 'arm64'];
  const { status, stdout, stderr } = makeImage(['--disk', disk, ...options]);
  t.equal(status, 0, stderr);
  t.match(stdout, `${name}@sha256:`);
  const image = new ReadImage(layout);
  t.match(image.config, { architecture: 'arm64' });
  t.match(image.index.manifests[0]?.annotations, { 'io.containerd.image.name': name });
  t.match(image.manifest.annotations, {
    'org.opencontainers.image.description': `Container disk: qcow2, ${MiB} bytes for the guest.`,
  });
  t.ok((await image.entries()).get('disk/disk.qcow2')?.content.equals(readFileSync(disk)));
});

t.test('what the mounter would refuse', { skip: skipUnless('qemu-img') }, async (t) => {
  const directory = temporaryDirectory(t);
  const path = (name: string) => join(directory, name);
  const raw = rawDisk(directory);
  const overlay = ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', raw, path('overlay')];
  execFileSync('qemu-img', overlay);
  execFileSync('qemu-img', ['convert', '-O', 'vmdk', raw, path('vmdk')]);
  writeFileSync(path('empty'), '');
  const images = path('images');
  for (const [disk, error] of [
    ['overlay', /^image: error: the disk .*overlay is refused: .*backing file/],
    ['vmdk', /^image: error: the disk .*vmdk is refused: its format is vmdk.*qemu-img convert/],
    ['empty', /^image: error: the disk .*empty is refused: it is an empty file\n$/],
    ['.', /^image: error: the disk .* is refused: it is not a regular file\n$/],
    ['missing', /^image: error: cannot open .*missing: ENOENT/],
  ] as const) {
    const { status, stdout, stderr } = makeImage([
      '--disk',
      path(disk),
      '--output',
      join(images, 'image'),
    ]);
    t.equal(status, 1, disk);
    t.match(stderr, error);
    t.equal(stderr.split('\n').length, 2, 'one line');
    t.equal(stdout, '');
    t.notOk(existsSync(images), 'nothing was made');
  }
});

t.test('what the command line cannot ask for', async (t) => {
  const directory = temporaryDirectory(t);
  const disk = rawDisk(directory);
  for (const [argv, error] of [
    [['--disk', disk, '--name', 'Fedora'], /"Fedora" is not the name of an image/],
    [['--disk', disk, '--architecture', 'vax'], /Allowed choices are amd64, arm64, s390x/],
    [['--architecture', 'arm64'], /the program is built for amd64/],
    [['disk.img'], /too many arguments/],
  ] as const) {
    const output = join(directory, 'image');
    const { status, stderr } = makeImage([...argv, '--output', output]);
    t.equal(status, 1, stderr);
    t.match(stderr, error);
    t.notOk(existsSync(output));
  }
});

t.test('a disk that changes while it is read', async (t) => {
  const directory = temporaryDirectory(t);
  const disk = rawDisk(directory);
  using files = new OpenedFiles();
  const { fd } = files.open(disk, '');
  const owner = { uid: 107, gid: 107 };
  const image = (size: number) => ({
    reference: parseReference('disk'),
    created: new Date(0),
    architecture: 'amd64',
    labels: {},
    entries: [{ type: 'file', path: 'disk/disk', owner, mode: 0o440, fd, size } as const],
  });
  const output = join(directory, 'images/image');
  files.checkUnchanged();
  truncateSync(disk, MiB / 2);
  await t.rejects(
    writeImage(output, image(MiB), () => files.checkUnchanged()),
    { code: 'ECHANGED', message: /disk\.img was written to while it was read/ },
    'it has become shorter',
  );
  await t.rejects(
    writeImage(output, image(1000), () => files.checkUnchanged()),
    { code: 'ECHANGED' },
    'the bytes were there, but others perhaps',
  );
  t.strictSame(readdirSync(join(directory, 'images')), []);
});

t.test('a disk that is full', { skip: skipUnless('root') }, async (t) => {
  const directory = temporaryDirectory(t);
  const small = tmpfs(t, 'size=1m');
  const argv = ['--disk', rawDisk(directory), '--output', join(small, 'image')];
  const { status, stderr } = makeImage(argv);
  t.equal(status, 1);
  t.match(stderr, /^image: error: cannot write \/.*: no space left on device$/m);
  t.strictSame(readdirSync(small), []);
});

t.test('memory does not grow with the disk', async (t) => {
  const directory = temporaryDirectory(t);
  const argv = (size: number) => {
    const disk = join(directory, 'sparse.img');
    writeFileSync(disk, '');
    truncateSync(disk, size);
    return ['--disk', disk, '--output', join(directory, 'image')];
  };
  const peak = (size: number) => {
    const tell = 'process.on("exit", () => console.error(process.resourceUsage().maxRSS))';
    const { stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(tell)}`, script, ...argv(size)],
      { encoding: 'utf8' },
    );
    return Number(stderr) * 1024;
  };
  const small = peak(MiB);
  const large = peak(200 * MiB);
  t.ok(small > 0 && large < small + 100 * MiB, `${small / MiB} MiB, then ${large / MiB} MiB`);
  t.comment(`${small / MiB} MiB, then ${large / MiB} MiB`);
});
