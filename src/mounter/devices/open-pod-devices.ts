import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DeviceFilter } from './device-filter.ts';
import { DeviceList } from './device-list.ts';
import { PodDevices } from './pod-devices.ts';

/**
 * The device cgroups whose directories a record names. One that is not there any more has taken its rules along.
 *
 * @throws SyscallError where a cgroup cannot be opened
 */
export function openPodDevices(directories: readonly string[]): PodDevices {
  const present = directories.filter((path) => existsSync(path));
  const isList = (path: string) => existsSync(join(path, 'devices.list'));
  const filters: DeviceFilter[] = [];
  try {
    for (const path of present) if (!isList(path)) filters.push(new DeviceFilter(path));
    return new PodDevices(
      present.filter(isList).map((path) => new DeviceList(path)),
      filters,
    );
  } catch (error) {
    for (const filter of filters) filter[Symbol.dispose]();
    throw error;
  }
}
