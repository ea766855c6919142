import { execFileSync } from 'node:child_process';
import t from 'tap';
import { syscallNumber } from '../../src/kernel/syscall-number.ts';
import { skipUnless } from '../support/requirements.ts';

const names = [
  'bpf',
  'statx',
  'pidfd_send_signal',
  'open_tree',
  'move_mount',
  'pidfd_open',
  'openat2',
  'mount_setattr',
];

/** Numbers of a header of the kernel. arm64 has those of asm-generic. */
const headers = { x64: 'asm/unistd_64.h', arm64: 'asm-generic/unistd.h' } as const;

t.test('the numbers are those of the kernel’s headers', { skip: skipUnless('g++') }, async (t) => {
  for (const [architecture, header] of Object.entries(headers)) {
    const macros = execFileSync('g++', ['-E', '-dM', '-x', 'c', '-'], {
      input: `#include <${header}>\n`,
      encoding: 'utf8',
    });
    for (const name of names) {
      const number = new RegExp(`^#define __NR_${name} (\\d+)$`, 'm').exec(macros)?.[1];
      t.equal(
        syscallNumber(name, architecture as keyof typeof headers),
        Number(number),
        `${name} on ${architecture}`,
      );
    }
  }
});

t.test('an architecture, or a call, that is not known', async (t) => {
  t.throws(() => syscallNumber('bpf', 's390x'), {
    code: 'ENOSYS',
    syscall: 'bpf',
    message: 'ENOSYS: function not implemented by this kernel, bpf',
  });
  t.throws(() => syscallNumber('nothing'), { code: 'ENOSYS' });
  t.equal(syscallNumber('openat2', 'arm'), 437, 'new calls have one number everywhere');
});
