import { Descriptor } from './descriptor.ts';
import { call } from './libc.ts';
import { hasCode } from './syscall-error.ts';
import { syscallNumber } from './syscall-number.ts';

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
  try {
    call(
      'long syscall(long number, int pidfd, int signal, const uint8_t *info, unsigned int flags)',
      'pidfd_send_signal',
      undefined,
      syscallNumber('pidfd_send_signal'),
      pidfd.number,
      0,
      null,
      0,
    );
    return true;
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false;
    // It is there, and another user's: only CAP_KILL may signal it.
    if (hasCode(error, 'EPERM')) return true;
    throw error;
  }
}
