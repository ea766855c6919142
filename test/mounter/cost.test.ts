import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { OtherMounts } from '../../scripts/bench/mounter/other-mounts.ts';
import { manifest, TestNode, vmi } from '../support/launcher.ts';
import { skipUnless } from '../support/requirements.ts';

const command = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

/** A launcher pod with some disks, all of one image. */
async function launcher(t: Test, disks: number) {
  const node = new TestNode(t);
  const pod = node.pod();
  const emptyDir = pod.emptyDir('container-disks');
  const indices = Array.from({ length: disks }, (_, index) => index);
  const sockets = indices.map((index) => `disk_${index}`);
  await node.sidecar(node.image('disk', { 'disk/disk.img': 'x'.repeat(512) }), emptyDir, sockets);
  const volumes = indices.map((index) => ({ name: `disk-${index}`, containerDisk: {} }));
  return { node, fields: { uid: node.uid(), pods: [pod.uid], volumes } };
}

t.test(
  'mounting and unmounting read no mount table of the host, and start no program',
  { skip: skipUnless('root', 'unshare', 'setpriv', 'strace') },
  async (t) => {
    const { node, fields } = await launcher(t, 2);
    const file = join(node.directories.root, 'vmi.json');
    writeFileSync(file, JSON.stringify(manifest(fields)));
    const trace = join(node.directories.root, 'trace');
    const traced = (...argv: string[]) => {
      const calls = 'trace=open,openat,openat2,execve,fork,vfork,clone,clone3';
      const { status, stderr } = spawnSync('strace', [
        ...['-f', '-qq', '-o', trace, '-e', calls],
        ...[process.execPath, command, ...node.arguments, ...argv],
      ]);
      t.equal(status, 0, String(stderr));
      return readFileSync(trace, 'utf8').split('\n');
    };
    const table = /"\/proc\/.*(mountinfo|mounts)"/;
    const mount = traced('mount', '-f', file);
    t.equal(node.mounts().length, 2);
    t.ok(mount.some((line) => line.includes('openat2')));
    t.strictSame(
      mount.filter((line) => table.test(line)),
      [],
    );
    t.equal(mount.filter((line) => line.includes('execve(')).length, 1, 'only itself');
    t.strictSame(
      traced('mount', '-f', file).filter((line) => table.test(line)),
      [],
      'nor again',
    );
    t.ok(
      traced('list').some((line) => table.test(line)),
      'as list has to',
    );
    t.strictSame(
      traced('unmount', '--all', '-f', file).filter((line) => table.test(line)),
      [],
      'nor does unmounting what is recorded and nothing else',
    );
    t.equal(node.mounts().length, 0);
    t.equal(traced('mount', '-f', file).length > 0, true);
    rmSync(node.stateDirectory, { recursive: true });
    t.ok(
      traced('unmount', '--all', '-f', file).some((line) => table.test(line)),
      'without a record it is looked for',
    );
    t.equal(node.mounts().length, 0);
  },
);

t.test(
  'with 2,000 other mounts a disk takes no longer',
  { skip: skipUnless('root', 'unshare', 'setpriv') },
  async (t) => {
    const disks = 30;
    const { node, fields } = await launcher(t, disks);
    const instance = vmi(fields);
    const mounter = node.mounter();
    const measure = async () => {
      const start = performance.now();
      const reports = await mounter.mount(instance);
      const time = performance.now() - start;
      t.equal(reports.filter(({ outcome }) => outcome === 'mounted').length, disks);
      await mounter.unmount(instance, { all: true });
      return time / disks;
    };
    const top = join(node.directories.root, 'others');
    using _few = new OtherMounts(top, 50);
    await measure();
    const few: number[] = [];
    const many: number[] = [];
    for (const round of ['1', '2', '3', '4']) {
      few.push(await measure());
      using _more = new OtherMounts(join(node.directories.root, `more-${round}`), 1950);
      many.push(await measure());
    }
    // The least of each: what else the machine does only ever adds.
    const [least, most] = [Math.min(...few), Math.min(...many)];
    t.comment(
      `a disk takes ${least.toFixed(2)} ms with 50 mounts, ${most.toFixed(2)} ms with 2,000`,
    );
    t.ok(most < 1.5 * least, `${most} ms is less than 1.5 times ${least} ms`);
  },
);
