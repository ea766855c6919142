import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../kernel/syscall-error.ts';
import { DeviceFilter } from './device-filter.ts';
import { DeviceList } from './device-list.ts';
import { PodDevices } from './pod-devices.ts';

/**
 * The device cgroups whose directories a record names. One that is not there any more has taken its rules along.
 *
 * @throws SyscallError where a cgroup cannot be opened
 */
export function openPodDevices(directories: readonly string[]): PodDevices {
  const lists: DeviceList[] = [];
  const filters: DeviceFilter[] = [];
  try {
    for (const path of directories) {
      if (existsSync(join(path, 'devices.list'))) lists.push(new DeviceList(path));
      else {
        const filter = openFilter(path);
        if (filter) filters.push(filter);
      }
    }
    return new PodDevices(lists, filters);
  } catch (error) {
    for (const filter of filters) filter[Symbol.dispose]();
    throw error;
  }
}

function openFilter(path: string): DeviceFilter | undefined {
  try {
    return new DeviceFilter(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
