import { statSync } from 'node:fs';
import { call } from './libc.ts';
import { hasCode } from './syscall-error.ts';

const CLONE_FS = 0x200;
const CLONE_NEWNS = 0x20000;
const NS_GET_NSTYPE = 0xb703;

/**
 * unshare(2) with CLONE_FS: the calling thread has a root and a working directory of its own from here on, which
 * setns(2) into a mount namespace asks for.
 */
export function unshareFileSystemState(): void {
  call('int unshare(int flags)', 'unshare', undefined, CLONE_FS);
}

/** setns(2) of the calling thread into an open mount namespace; its root and working directory are then that one's. */
export function enterMountNamespace(fd: number, path: string): void {
  call('int setns(int fd, int type)', 'setns', path, fd, CLONE_NEWNS);
}

/** Whether two paths of /proc/<pid>/ns lead to one namespace (namespaces(7): device and inode). */
export function isSameNamespace(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  return a.dev === b.dev && a.ino === b.ino;
}

/** Whether an open file is a mount namespace: NS_GET_NSTYPE of ioctl_ns(2). */
export function isMountNamespace(fd: number, path: string): boolean {
  try {
    const type = call('int ioctl(int fd, unsigned long request)', 'ioctl', path, fd, NS_GET_NSTYPE);
    return type === CLONE_NEWNS;
  } catch (error) {
    if (hasCode(error, 'ENOTTY', 'EINVAL')) return false;
    throw error;
  }
}
