import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { program } from './holder.ts';
import type { TestNode } from './launcher.ts';

const script = `
  mount --bind "$2" "$1/disks"
  mount -t proc proc "$1/proc"
  mount --bind "$3" "$1/usr/bin"
  exec chroot --userspec=107:107 "$1" /usr/bin/container-disk -c /disks/disk_0`;

/**
 * A sidecar whose root is an overlay that the host's mount table shows, as those of containerd are, and in which the
 * program runs in a mount namespace of its own.
 *
 * @returns where the host has the root
 */
export async function visibleSidecar(
  t: Test,
  node: TestNode,
  image: string,
  emptyDir: string,
): Promise<string> {
  const bundle = join(node.directories.root, 'bundle');
  const root = join(bundle, 'rootfs');
  for (const name of ['upper', 'work', 'rootfs'])
    mkdirSync(join(bundle, name), { recursive: true });
  const layers = `lowerdir=${image},upperdir=${bundle}/upper,workdir=${bundle}/work`;
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, root]);
  for (const name of ['proc', 'disks', 'usr/bin']) mkdirSync(join(root, name), { recursive: true });
  const child = spawn(
    'unshare',
    ['--mount', '--pid', '--fork', 'sh', '-ec', script, 'sh', root, emptyDir, dirname(program)],
    { stdio: 'inherit' },
  );
  t.teardown(async () => {
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
    if (children !== '') process.kill(Number(children), 'SIGKILL');
    if (child.exitCode === null) await once(child, 'close');
  });
  while (!existsSync(join(emptyDir, 'disk_0.sock'))) {
    if (child.exitCode !== null) throw new Error('the sidecar ended');
    await sleep(5);
  }
  return root;
}
