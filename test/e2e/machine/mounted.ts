import { execFileSync } from 'node:child_process';
import type { Test } from 'tap';
import { MounterCommand } from '../../../scripts/demo/mounter.ts';
import { guide } from './guide.ts';
import { containerDisks, overlay } from './paths.ts';
import type { Pods } from './pods.ts';

/** Runs the mounter's command; it has to exit 0. */
export function succeeds(
  t: Test,
  mounter: MounterCommand,
  verb: string,
  ...options: string[]
): void {
  const { status, stderr } = mounter.run(verb, ...options);
  t.equal(status, 0, `container-disk-mounter ${verb} ${stderr}`.trim());
}

/** Mounts what the machine starts with, and makes its overlay as the guide says. */
export function mounted(t: Test, { node, vmi, launcher }: Pods): MounterCommand {
  const mounter = new MounterCommand(node.directories, vmi.plain);
  succeeds(t, mounter, 'ready', '--timeout', '60s');
  succeeds(t, mounter, 'mount');
  const backing = ['-b', `${containerDisks}/disk_0.img`, '-F', 'qcow2'];
  const create = ['qemu-img', 'create', '-f', 'qcow2', ...backing, overlay];
  t.ok(guide().includes(`\n${create.join(' ')}\n`), 'the guide has the command');
  const [command, ...rest] = launcher.asQemu(...create);
  execFileSync(command, rest);
  return mounter;
}
