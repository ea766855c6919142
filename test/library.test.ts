import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { manifest, TestNode } from './support/launcher.ts';
import { otherNode } from './support/other-node.ts';
import { skipUnless } from './support/requirements.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const root = join(import.meta.dirname, '..');

t.test(
  'the library as a package has it',
  { skip: skipUnless('root', 'unshare', 'setpriv') },
  async (t) => {
    const project = temporaryDirectory(t);
    const installed = join(project, 'node_modules/container-disk');
    mkdirSync(installed, { recursive: true });
    execFileSync(process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-p',
      join(root, 'tsconfig.library.json'),
      '--outDir',
      join(installed, 'dist/mounter'),
    ]);
    writeFileSync(join(installed, 'package.json'), readFileSync(join(root, 'package.json')));
    for (const name of ['koffi', 'commander', 'yaml', '@koromix', '@types', 'undici-types']) {
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
    }
    const node = new TestNode(t);
    const pod = node.pod();
    const emptyDir = pod.emptyDir('container-disks');
    await node.sidecar(node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) }), emptyDir, [
      'disk_0',
    ]);
    writeFileSync(
      join(project, 'vmi.json'),
      JSON.stringify(manifest({ uid: node.uid(), pods: [pod.uid] })),
    );
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
    writeFileSync(
      join(project, 'use.ts'),
      `import { Mounter, type MountReport, readManifestFile, readVirtualMachineInstances } from 'container-disk/mounter';

const mounter = new Mounter({
  kubeletDirectory: ${JSON.stringify(node.directories.kubelet)},
  stateDirectory: ${JSON.stringify(node.stateDirectory)},
  hostMountNamespace: '/proc/self/ns/mnt',
});
for (const instance of readVirtualMachineInstances(await readManifestFile('vmi.json'), 'vmi.json')) {
  const reports: readonly MountReport[] = await mounter.mount(instance);
  for (const report of reports) console.log(report.volume, report.outcome, report.outcome === 'failed' ? report.error.message : report.disk?.format);
  console.log((await mounter.list()).sockets.length);
  for (const { outcome } of await mounter.unmount(instance, { all: true })) console.log(outcome);
}
await mounter[Symbol.asyncDispose]();
`,
    );
    const options = [
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--strict',
      '--types',
      'node',
      '--lib',
      'es2023,esnext.disposable',
    ];
    const compiled = spawnSync(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), ...options, 'use.ts'],
      { cwd: project, encoding: 'utf8' },
    );
    t.equal(compiled.status, 0, compiled.stdout);
    const { stdout, stderr } = spawnSync(otherNode(), ['use.js'], {
      cwd: project,
      encoding: 'utf8',
    });
    t.equal(stdout, 'root mounted raw\n1\nunmounted\n', stderr);
    t.strictSame(node.mounts(), []);

    const command = join(installed, 'dist/mounter/bin/container-disk-mounter.js');
    t.match(
      spawnSync(
        otherNode(),
        [command, ...node.arguments, 'mount', '-f', join(project, 'vmi.json')],
        { encoding: 'utf8' },
      ),
      {
        status: 0,
        stdout: /root +mounted/,
      },
    );
  },
);
