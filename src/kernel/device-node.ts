import { call } from './libc.ts';
import type { DeviceNumber } from './statx.ts';

/** The number of a device as the kernel's interface has it: makedev(3), gnu_dev_makedev of glibc. */
export function makeDevice({ major, minor }: DeviceNumber): bigint {
  const [high, low] = [BigInt(major), BigInt(minor)];
  return (
    (low & 0xffn) | ((high & 0xfffn) << 8n) | ((low & ~0xffn) << 12n) | ((high & ~0xfffn) << 32n)
  );
}

/**
 * mknodat(2) of a device in an open directory. The process's umask takes bits from the mode.
 *
 * @param mode type (S_IFBLK, S_IFCHR) and permissions
 */
export function mknodat(directory: number, name: string, mode: number, device: DeviceNumber): void {
  call(
    'int mknodat(int dirfd, const char *path, unsigned int mode, unsigned long device)',
    'mknodat',
    name,
    directory,
    name,
    mode,
    makeDevice(device),
  );
}
