import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { VirtLauncher } from '../../../scripts/demo/virt-launcher.ts';
import type { TestNode } from '../../support/launcher.ts';

/** What a machine's pods have on this one: processes, mounts, loop devices, cgroups, directories. */
export function whatIsLeft({ directories }: TestNode, { cgroup }: VirtLauncher): string[] {
  const { root } = directories;
  const devices = execFileSync(
    'losetup',
    ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'],
    {
      encoding: 'utf8',
    },
  );
  return [
    ...readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry) && mountinfo(entry).includes(root))
      .map((pid) => `process ${pid}, or a mount that it sees`),
    ...devices.split('\n').filter((line) => line.includes(root)),
    ...[cgroup.container, cgroup.pod, root].filter(existsSync),
  ];
}

/** The mounts that a process sees; none where it has ended. */
function mountinfo(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8');
  } catch (error) {
    // EINVAL: a process that has ended and was not waited for has no mounts any more.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EINVAL') return '';
    throw error;
  }
}
