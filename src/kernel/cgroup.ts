import { join, relative } from 'node:path';
import type { MountinfoEntry } from './mountinfo.ts';

/** A line of `/proc/<pid>/cgroup` (cgroups(7)). */
export interface CgroupMembership {
  /** Unique ID of the hierarchy; 0 is that of cgroup v2. */
  readonly hierarchy: number;
  /** Controllers of a v1 hierarchy, `name=…` among them; empty for v2. */
  readonly controllers: readonly string[];
  /** Relative to the root of the hierarchy, as the reader's cgroup namespace has it. */
  readonly path: string;
}

export function parseCgroup(text: string): CgroupMembership[] {
  return text.split('\n').flatMap((line) => {
    // A path may hold colons.
    const [, hierarchy, controllers, path] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (hierarchy === undefined || controllers === undefined || path === undefined) return [];
    return {
      hierarchy: Number(hierarchy),
      controllers: controllers.split(',').filter(Boolean),
      path,
    };
  });
}

/** Where the directory of a cgroup is, by the mount of its hierarchy; undefined where that is not mounted. */
export function cgroupDirectory(
  { hierarchy, controllers, path }: CgroupMembership,
  table: readonly MountinfoEntry[],
): string | undefined {
  const isOurs = ({ fsType, superOptions }: MountinfoEntry) =>
    hierarchy === 0
      ? fsType === 'cgroup2'
      : fsType === 'cgroup' && controllers.every((name) => superOptions.includes(name));
  for (const { root, mountPoint } of table.filter(isOurs)) {
    const inside = relative(root, path);
    if (!inside.startsWith('..')) return join(mountPoint, inside);
  }
  return undefined;
}
