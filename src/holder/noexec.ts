import { mountIdOf } from '../kernel/fdinfo.ts';
import { readMountinfo } from '../kernel/mountinfo.ts';
import type { Directory } from './directory.ts';
import { HolderError, printable } from './holder-error.ts';

/**
 * Refuses a directory whose mount has the option `noexec` (mount(2), MS_NOEXEC): a program that lies there can
 * never be started.
 *
 * @param path the file that would be there, for the message
 * @throws HolderError ENOEXECMOUNT
 */
export function refuseNoexec(directory: Directory, path: string): void {
  const id = mountIdOf(directory.fd);
  const mount = readMountinfo('/proc/self').find((entry) => entry.id === id);
  if (!mount?.options.includes('noexec')) return;
  throw new HolderError(
    'ENOEXECMOUNT',
    `cannot copy to ${printable(path)}: its file system is mounted noexec, the program could never start there`,
  );
}
