import { SyscallError } from './syscall-error.ts';

/**
 * Numbers of system calls without a wrapper in every libc. From 424 on they are the same on all architectures;
 * the others are of the time before (asm/unistd.h).
 */
const numbers: Record<string, Partial<Record<NodeJS.Architecture, number>> | number> = {
  bpf: { x64: 321, arm64: 280 },
  getdents64: { x64: 217, arm64: 61 },
  statx: { x64: 332, arm64: 291 },
  pidfd_send_signal: 424,
  open_tree: 428,
  move_mount: 429,
  pidfd_open: 434,
  openat2: 437,
  mount_setattr: 442,
};

/** errno(3) of a call that the kernel does not have. */
const ENOSYS = 38;

/** @throws SyscallError ENOSYS on an architecture whose number is not known here */
export function syscallNumber(name: string, architecture = process.arch): number {
  const entry = numbers[name];
  const number = typeof entry === 'number' ? entry : entry?.[architecture];
  if (number === undefined) throw new SyscallError(ENOSYS, name);
  return number;
}
