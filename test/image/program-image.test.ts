import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import packageJson from '../../package.json' with { type: 'json' };
import { program } from '../support/holder.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { makeImage } from './make-image.ts';
import { ReadImage, readTar } from './read-image.ts';

const name = `docker.io/library/container-disk:${packageJson.version}`;

/** The image, made into a directory of the test's own. */
function made(t: import('tap').Test, env: NodeJS.ProcessEnv = {}) {
  const directory = temporaryDirectory(t);
  const layout = join(directory, 'image');
  const { status, stdout, stderr } = makeImage(['--output', layout], env);
  t.equal(status, 0, stderr);
  return { directory, layout, archive: `${layout}.tar`, stdout, image: new ReadImage(layout) };
}

t.test('the image of the program', async (t) => {
  const { directory, stdout, image } = made(t);
  t.strictSame(readdirSync(directory).sort(), ['image', 'image.tar'], 'nothing else is left');

  const entries = await image.entries();
  t.strictSame(
    [...entries.keys()].filter((path) => !path.startsWith('licenses/')),
    ['usr/', 'usr/bin/', 'usr/bin/container-disk', 'usr/bin/cp'],
  );
  const executable = entries.get('usr/bin/container-disk');
  t.match(executable?.header, { type: 'file', mode: 0o755, uid: 0, gid: 0 });
  t.ok(executable?.content.equals(readFileSync(program)), 'the program that was built');
  t.match(entries.get('usr/bin/cp')?.header, { type: 'symlink', linkname: 'container-disk' });
  for (const path of ['container-disk', 'commander', 'node.js']) {
    t.ok((entries.get(`licenses/${path}`)?.content.length ?? 0) > 1000, `licence of ${path}`);
  }
  for (const [path, { header }] of entries) {
    t.equal(header.mtime.getTime(), 0, path);
    t.strictSame([header.uname, header.gname], ['', ''], `${path}: no names of this machine`);
  }

  t.match(image.config, {
    architecture: 'amd64',
    os: 'linux',
    created: '1970-01-01T00:00:00.000Z',
    config: {
      User: '107:107',
      Entrypoint: ['/usr/bin/container-disk'],
      Labels: {
        'org.opencontainers.image.title': 'container-disk',
        'org.opencontainers.image.version': packageJson.version,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
    rootfs: { type: 'layers', diff_ids: [image.manifest.layers[0]?.digest] },
  });
  t.match(image.index.manifests, [
    {
      annotations: {
        'io.containerd.image.name': name,
        'org.opencontainers.image.ref.name': packageJson.version,
      },
    },
  ]);
  t.match(stdout, `${name}@${image.index.manifests[0]?.digest}\n`);
});

t.test('the same bytes, whoever makes it and when', async (t) => {
  const one = made(t, { TZ: 'Pacific/Auckland' });
  const other = made(t, { TZ: 'UTC', LANG: 'de_DE.UTF-8', USER: 'somebody' });
  t.ok(readFileSync(one.archive).equals(readFileSync(other.archive)));
  execFileSync('diff', ['-r', one.layout, other.layout]);
});

t.test('the archive is the layout', async (t) => {
  const { directory, layout, archive } = made(t);
  const entries = await readTar(readFileSync(archive));
  t.ok(entries.size >= 7);
  mkdirSync(join(directory, 'unpacked'));
  execFileSync('tar', ['-xf', archive, '-C', join(directory, 'unpacked')]);
  execFileSync('diff', ['-r', layout, join(directory, 'unpacked')]);
});

t.test('SOURCE_DATE_EPOCH', async (t) => {
  const { image } = made(t, { SOURCE_DATE_EPOCH: '1750000000' });
  t.match(image.config, { created: '2025-06-15T15:06:40.000Z' });
  for (const [path, { header }] of await image.entries()) {
    t.equal(header.mtime.getTime(), 1750000000000, path);
  }
  for (const epoch of ['', 'yesterday', '-1', '1e9', '9'.repeat(10)]) {
    const { status, stderr } = makeImage(['--output', '/nonexistent/image'], {
      SOURCE_DATE_EPOCH: epoch,
    });
    t.equal(status, 1);
    t.match(stderr, /^image: error: SOURCE_DATE_EPOCH is ".*", and not a number of seconds\n$/);
  }
});

t.test('what is there already', async (t) => {
  const directory = temporaryDirectory(t);
  const layout = join(directory, 'image');
  mkdirSync(layout);
  writeFileSync(join(layout, 'precious'), 'mine');
  const refused = makeImage(['--output', layout]);
  t.equal(refused.status, 1);
  t.match(refused.stderr, /is no OCI image layout: it is left as it is/);
  t.strictSame(readdirSync(directory), ['image']);
  t.strictSame(readdirSync(layout), ['precious']);

  writeFileSync(join(layout, 'oci-layout'), '{}');
  t.equal(makeImage(['--output', layout]).status, 0);
  t.strictSame(readdirSync(layout).sort(), ['blobs', 'index.json', 'oci-layout']);
});

t.test('skopeo takes both', { skip: skipUnless('skopeo') }, async (t) => {
  const { directory, layout, archive, image } = made(t);
  for (const [source, what] of [
    [`oci:${layout}`, 'the layout'],
    [`oci-archive:${archive}:${packageJson.version}`, 'the archive'],
  ] as const) {
    const inspected = JSON.parse(execFileSync('skopeo', ['inspect', source], { encoding: 'utf8' }));
    t.match(inspected, { Digest: image.index.manifests[0]?.digest, Os: 'linux' }, what);
    execFileSync('skopeo', ['copy', '--quiet', source, `dir:${join(directory, 'copy')}`]);
    // What Docker takes: the layer has to be compressed or not as the destination likes it.
    const docker = join(directory, 'docker.tar');
    execFileSync('skopeo', ['copy', '--quiet', source, `docker-archive:${docker}:it:latest`]);
    const [{ Layers }] = JSON.parse(
      execFileSync('tar', ['-xOf', docker, 'manifest.json'], { encoding: 'utf8' }),
    );
    t.equal(`sha256:${Layers[0].replace('.tar', '')}`, image.config.rootfs.diff_ids[0]);
    execFileSync('rm', [docker]);
  }
});
