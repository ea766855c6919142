import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cgroupDirectory, parseCgroup } from '../../kernel/cgroup.ts';
import { readMountinfo } from '../../kernel/mountinfo.ts';
import type { ProcessHandle } from '../../kernel/process-handle.ts';
import { MounterError } from '../mounter-error.ts';
import type { DeviceCgroup } from './device-cgroup.ts';
import { DeviceFilter } from './device-filter.ts';
import { DeviceList } from './device-list.ts';

/** Whether a component of a cgroup's path is that of a pod, as the cgroupfs and the systemd driver name it. */
function isPodComponent(component: string, podUID: string): boolean {
  const names = [podUID, podUID.replaceAll('-', '_')];
  return names.some((uid) => component === `pod${uid}` || component.endsWith(`-pod${uid}.slice`));
}

/**
 * The device cgroups of the container that a process is in, and those above it up to its pod's.
 *
 * A process is found through a socket that a pod can replace: its cgroup is used only if it is that pod's.
 *
 * @throws MounterError ECGROUP
 */
export function podDeviceCgroups(process: ProcessHandle, podUID: string): DeviceCgroup[] {
  const memberships = parseCgroup(process.read('cgroup').toString('utf8'));
  const table = readMountinfo('/proc/self');
  const candidates = memberships.filter(
    ({ hierarchy, controllers }) => hierarchy === 0 || controllers.includes('devices'),
  );
  const found: DeviceCgroup[] = [];
  for (const membership of candidates) {
    const components = membership.path.split('/');
    const top = components.findIndex((component) => isPodComponent(component, podUID));
    if (top < 0) continue;
    const directory = cgroupDirectory(membership, table);
    if (directory === undefined) continue;
    refuseOther(directory, process.pid);
    const levels = components.length - top;
    if (membership.hierarchy !== 0) found.push(new DeviceList(directory));
    else found.push(...filters(directory, levels));
  }
  if (found.length > 0) return found;
  const paths = candidates.map(({ path }) => path).join(', ');
  throw new MounterError(
    'ECGROUP',
    `process ${process.pid} is not in a device cgroup of pod ${podUID}: it is in ${paths || 'none'}`,
  );
}

/** The cgroup of the process and its ancestors within the pod: a program at any of them has its say. */
function filters(directory: string, levels: number): DeviceFilter[] {
  const found: DeviceFilter[] = [];
  for (let level = 0, path = directory; level < levels; level += 1, path = dirname(path)) {
    found.push(new DeviceFilter(path));
  }
  return found;
}

/** A path that leads elsewhere in another cgroup namespace would be a cgroup without this process. */
function refuseOther(directory: string, pid: number): void {
  const pids = readFileSync(join(directory, 'cgroup.procs'), 'utf8').split('\n');
  if (pids.includes(String(pid))) return;
  throw new MounterError('ECGROUP', `${directory} is not the cgroup of process ${pid}`);
}
