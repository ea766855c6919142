import { call } from './libc.ts';
import { syscallNumber } from './syscall-number.ts';

/** Commands of bpf(2), `enum bpf_cmd` of linux/bpf.h. */
export const BPF_PROG_LOAD = 5;
export const BPF_PROG_ATTACH = 8;
export const BPF_PROG_DETACH = 9;
export const BPF_PROG_GET_FD_BY_ID = 13;
export const BPF_OBJ_GET_INFO_BY_FD = 15;
export const BPF_PROG_QUERY = 16;
export const BPF_LINK_UPDATE = 29;
export const BPF_LINK_GET_FD_BY_ID = 30;
export const BPF_LINK_GET_NEXT_ID = 31;

/** Where programs that decide on devices are attached: `enum bpf_attach_type`. */
export const BPF_CGROUP_DEVICE = 6;

/** Replace one program, which is named, by another. */
export const BPF_F_REPLACE = 4;

/** `union bpf_attr` as far as it is used; the kernel takes a longer one if the rest is zero. */
const attrSize = 144;

/** `union bpf_attr`, filled in. Numbers are 32 bits in the machine's order, pointers 64. */
export function attribute(fill: (attr: Buffer) => void): Buffer {
  const attr = Buffer.alloc(attrSize);
  fill(attr);
  return attr;
}

/** bpf(2). What the kernel answers within `attr` is there afterwards. @throws SyscallError */
export function bpf(command: number, attr: Buffer): number {
  return call(
    'long syscall(long number, int command, _Inout_ uint8_t *attr, unsigned int size)',
    'bpf',
    undefined,
    syscallNumber('bpf'),
    command,
    attr,
    attr.length,
  );
}
