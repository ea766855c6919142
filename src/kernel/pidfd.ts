import { constants } from 'node:os';
import { Descriptor } from './descriptor.ts';
import { call, tryCall } from './libc.ts';
import { SyscallError } from './syscall-error.ts';
import { syscallNumber } from './syscall-number.ts';

const { EPERM, ESRCH } = constants.errno;

/** pidfd_open(2), Linux 5.3: holds a process, so that a reused pid is noticed. */
export function pidfdOpen(pid: number): Descriptor {
  return new Descriptor(
    call(
      'long syscall(long number, int pid, unsigned int flags)',
      'pidfd_open',
      `/proc/${pid}`,
      syscallNumber('pidfd_open'),
      pid,
      0,
    ),
  );
}

/** pidfd_send_signal(2) with signal 0: whether the process is still there (a zombie is). */
export function isAlive(pidfd: Descriptor): boolean {
  const result = tryCall(
    'long syscall(long number, int pidfd, int signal, const uint8_t *info, unsigned int flags)',
    'pidfd_send_signal',
    syscallNumber('pidfd_send_signal'),
    pidfd.number,
    0,
    null,
    0,
  );
  if (result === -ESRCH) return false;
  // EPERM: it is there, and another user's; only CAP_KILL may signal it.
  if (result >= 0 || result === -EPERM) return true;
  throw new SyscallError(-result, 'pidfd_send_signal');
}
