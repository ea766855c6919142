import {
  attribute,
  BPF_CGROUP_DEVICE,
  BPF_F_REPLACE,
  BPF_PROG_ATTACH,
  BPF_PROG_DETACH,
  BPF_PROG_QUERY,
  bpf,
} from './bpf.ts';
import { NativeMemory } from './native-memory.ts';

/**
 * Attach flags (linux/bpf.h), which are the cgroup's from the first program on. Without any, and with
 * BPF_F_ALLOW_OVERRIDE, it has one program, of which a cgroup below may have another instead. With BPF_F_ALLOW_MULTI
 * it can have several, and all of them, and those of the cgroups above, have to allow an access.
 */
export const BPF_F_ALLOW_OVERRIDE = 1;
export const BPF_F_ALLOW_MULTI = 2;

const BPF_F_QUERY_EFFECTIVE = 1;

/** Programs that one query can tell of. A cgroup has 64 at most, and so has each above it. */
const mostPrograms = 4096;

/** The device programs of a cgroup. */
export interface AttachedPrograms {
  readonly ids: readonly number[];
  /** Of the cgroup: 0, BPF_F_ALLOW_OVERRIDE or BPF_F_ALLOW_MULTI. */
  readonly flags: number;
}

/** BPF_PROG_QUERY: which device programs are attached to a cgroup (not those of its ancestors). */
export function queryDevicePrograms(cgroup: number): AttachedPrograms {
  return query(cgroup, 0);
}

/** The same with BPF_F_QUERY_EFFECTIVE: all that have a say in the cgroup, those of its ancestors among them. */
export function effectiveDevicePrograms(cgroup: number): readonly number[] {
  return query(cgroup, BPF_F_QUERY_EFFECTIVE).ids;
}

function query(cgroup: number, queryFlags: number): AttachedPrograms {
  using ids = new NativeMemory(4 * mostPrograms);
  const attr = attribute((struct) => {
    struct.writeUInt32LE(cgroup, 0); // target_fd
    struct.writeUInt32LE(BPF_CGROUP_DEVICE, 4); // attach_type
    struct.writeUInt32LE(queryFlags, 8); // query_flags
    struct.writeBigUInt64LE(ids.address, 16); // prog_ids
    struct.writeUInt32LE(mostPrograms, 24); // prog_cnt
  });
  bpf(BPF_PROG_QUERY, attr);
  const count = attr.readUInt32LE(24);
  const list = ids.copy(4 * count);
  return {
    ids: Array.from({ length: count }, (_, index) => list.readUInt32LE(4 * index)),
    flags: attr.readUInt32LE(12), // attach_flags
  };
}

/** BPF_PROG_ATTACH beside what is attached, or in place of it where the cgroup does not allow several. */
export function attachDeviceProgram(cgroup: number, program: number, flags: number): void {
  bpf(BPF_PROG_ATTACH, attachment(cgroup, program, flags));
}

/**
 * Swaps one attached program for another, at once: BPF_PROG_ATTACH with BPF_F_REPLACE, Linux 5.6, of a cgroup that
 * allows several.
 *
 * @throws SyscallError ENOENT where `old` is not attached (any more), or was attached by a link; E2BIG where the cgroup
 *   has 64 programs, although none is added
 */
export function replaceDeviceProgram(cgroup: number, program: number, old: number): void {
  const attr = attachment(cgroup, program, BPF_F_ALLOW_MULTI | BPF_F_REPLACE);
  attr.writeUInt32LE(old, 16); // replace_bpf_fd
  bpf(BPF_PROG_ATTACH, attr);
}

/** BPF_PROG_DETACH. @throws SyscallError ENOENT */
export function detachDeviceProgram(cgroup: number, program: number): void {
  bpf(BPF_PROG_DETACH, attachment(cgroup, program, 0));
}

function attachment(cgroup: number, program: number, flags: number): Buffer {
  return attribute((attr) => {
    attr.writeUInt32LE(cgroup, 0); // target_fd
    attr.writeUInt32LE(program, 4); // attach_bpf_fd
    attr.writeUInt32LE(BPF_CGROUP_DEVICE, 8); // attach_type
    attr.writeUInt32LE(flags, 12); // attach_flags
  });
}
