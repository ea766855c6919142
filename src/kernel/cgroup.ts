import { join } from 'node:path';
import { MountTable } from './mount-table.ts';
import type { MountinfoEntry } from './mountinfo.ts';

/** A line of `/proc/<pid>/cgroup` (cgroups(7)). */
export interface CgroupMembership {
  /** Unique ID of the hierarchy; 0 is that of cgroup v2. */
  readonly hierarchy: number;
  /** Controllers of a v1 hierarchy, `name=…` among them; empty for v2. */
  readonly controllers: readonly string[];
  /**
   * Relative to the root of the reader's cgroup namespace; what is outside of it begins with `/..`
   * (cgroup_namespaces(7)). ` (deleted)` is appended to one that was removed.
   */
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

let mounts: readonly MountinfoEntry[] | undefined;

/**
 * The mounts of cgroup hierarchies in the mount namespace of this process, in the order of mountinfo. They are looked
 * up once, as a host can have thousands of other mounts.
 *
 * @param again whether they are looked up anew
 */
export function cgroupMounts(again: boolean): readonly MountinfoEntry[] {
  if (mounts === undefined || again) {
    const table = MountTable.read('/proc/self');
    mounts = [...table.ofType('cgroup2'), ...table.ofType('cgroup')];
  }
  return mounts;
}

/**
 * Where the directory of a cgroup is, by the mount of its hierarchy.
 *
 * @param table mountinfo of the reader, whose cgroup namespace its roots are relative to as well
 * @returns undefined where the hierarchy is not mounted, or only a part of it without this cgroup
 */
export function cgroupDirectory(
  { hierarchy, controllers, path }: CgroupMembership,
  table: readonly MountinfoEntry[],
): string | undefined {
  const isOurs = ({ fsType, superOptions }: MountinfoEntry) =>
    hierarchy === 0
      ? fsType === 'cgroup2'
      : fsType === 'cgroup' && controllers.every((name) => superOptions.includes(name));
  for (const { root, mountPoint } of table.filter(isOurs)) {
    const inside = below(root, path);
    if (inside !== undefined) return join(mountPoint, ...inside);
  }
  return undefined;
}

/** The components of a path below a root. Where one leads out of the namespace further than the other, they have no name. */
function below(root: string, path: string): string[] | undefined {
  const [rootNames, pathNames] = [components(root), components(path)];
  const isBelow = rootNames.every((name, index) => name === pathNames[index]);
  const inside = pathNames.slice(rootNames.length);
  return isBelow && !inside.includes('..') ? inside : undefined;
}

function components(path: string): string[] {
  return path.split('/').filter(Boolean);
}
