import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type CgroupMembership,
  cgroupDirectory,
  cgroupMounts,
  parseCgroup,
} from '../../kernel/cgroup.ts';
import type { MountinfoEntry } from '../../kernel/mountinfo.ts';
import { ProcessGoneError, type ProcessHandle } from '../../kernel/process-handle.ts';
import { MounterError } from '../mounter-error.ts';
import { podOfComponent } from '../pods-of-cgroups.ts';
import { DeviceFilter } from './device-filter.ts';
import { DeviceList } from './device-list.ts';
import { PodDevices } from './pod-devices.ts';

/**
 * The device cgroups of the container that a process is in, and those above it up to its pod's.
 *
 * A process is found through a socket that a pod can replace: its cgroup is used only if it is that pod's.
 *
 * @throws MounterError ECGROUP; ProcessGoneError where the cgroup went with its last process
 */
export function findPodDevices(process: ProcessHandle, podUID: string): PodDevices {
  try {
    return find(process, podUID);
  } catch (error) {
    // A cgroup has no zombies, and is removed when the last process has ended.
    throw process.hasEnded ? new ProcessGoneError(process.pid) : error;
  }
}

function find(process: ProcessHandle, podUID: string): PodDevices {
  const memberships = parseCgroup(process.read('cgroup').toString('utf8')).filter(
    ({ hierarchy, controllers }) => hierarchy === 0 || controllers.includes('devices'),
  );
  const ofPod = memberships.filter(({ path }) => levelOfPod(path, podUID) !== undefined);
  if (ofPod.length === 0) {
    const paths = memberships.map(({ path }) => path).join(', ');
    throw new MounterError(
      'ECGROUP',
      `process ${process.pid} is not in a device cgroup of pod ${podUID}: it is in ${paths || 'none'}`,
    );
  }
  const lists: DeviceList[] = [];
  const filters: DeviceFilter[] = [];
  try {
    for (const membership of ofPod) {
      const directory = directoryOf(membership, process.pid);
      if (membership.hierarchy !== 0) lists.push(new DeviceList(directory));
      else openFilters(filters, directory, levelOfPod(membership.path, podUID) ?? 0);
    }
    return new PodDevices(lists, filters);
  } catch (error) {
    for (const filter of filters) filter[Symbol.dispose]();
    throw error;
  }
}

/** How many levels the pod's cgroup is above a path; undefined where the path is of none of its cgroups. */
function levelOfPod(path: string, podUID: string): number | undefined {
  const components = path.split('/').reverse();
  const level = components.findLastIndex((component) => podOfComponent(component) === podUID);
  return level < 0 ? undefined : level;
}

/** What was looked up earlier serves as long as it leads to the process. */
function directoryOf(membership: CgroupMembership, pid: number): string {
  try {
    return directoryIn(cgroupMounts(false), membership, pid);
  } catch {
    return directoryIn(cgroupMounts(true), membership, pid);
  }
}

/** A path that leads elsewhere in another cgroup namespace would be a cgroup without this process. */
function directoryIn(
  table: readonly MountinfoEntry[],
  membership: CgroupMembership,
  pid: number,
): string {
  const { path, hierarchy } = membership;
  const directory = cgroupDirectory(membership, table);
  if (directory === undefined) {
    throw new MounterError(
      'ECGROUP',
      `the cgroup ${path} of process ${pid} is in no mount of ${hierarchy === 0 ? 'cgroup2' : 'the devices controller'} here (the cgroup namespace of the host and its /sys/fs/cgroup are needed)`,
    );
  }
  const pids = readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n');
  if (pids.includes(String(pid))) return directory;
  throw new MounterError('ECGROUP', `${directory} is not the cgroup of process ${pid}`);
}

/** The cgroup of the process and its ancestors within the pod: a program at any of them has its say. */
function openFilters(filters: DeviceFilter[], directory: string, levels: number): void {
  for (let level = 0, path = directory; level <= levels; level += 1, path = dirname(path)) {
    filters.push(new DeviceFilter(path));
  }
}
