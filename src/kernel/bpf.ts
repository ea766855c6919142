import { Descriptor } from './descriptor.ts';
import { call } from './libc.ts';
import { NativeMemory } from './native-memory.ts';
import { hasCode, SyscallError } from './syscall-error.ts';
import { syscallNumber } from './syscall-number.ts';

/** Commands of bpf(2). */
const BPF_PROG_LOAD = 5;
const BPF_PROG_ATTACH = 8;
const BPF_PROG_DETACH = 9;
const BPF_PROG_GET_FD_BY_ID = 13;
const BPF_OBJ_GET_INFO_BY_FD = 15;
const BPF_PROG_QUERY = 16;
const BPF_LINK_UPDATE = 29;
const BPF_LINK_GET_FD_BY_ID = 30;
const BPF_LINK_GET_NEXT_ID = 31;

const BPF_PROG_TYPE_CGROUP_DEVICE = 15;
const BPF_CGROUP_DEVICE = 6;
const BPF_LINK_TYPE_CGROUP = 3;

/** Attach flags (linux/bpf.h): other programs may be attached beside this one, or take its place below. */
export const BPF_F_ALLOW_OVERRIDE = 1;
export const BPF_F_ALLOW_MULTI = 2;
const BPF_F_REPLACE = 4;

/** `union bpf_attr` as far as it is used; the kernel takes a longer one if the rest is zero. */
const attrSize = 144;

/** Of the verifier's log, of which the end says what was wrong. */
const logSize = 1 << 16;

/** Programs that one query can tell of. */
const mostPrograms = 1024;

/** How often a load is tried that a signal has interrupted. */
const loadAttempts = 100;

/** The device programs of a cgroup. */
export interface AttachedPrograms {
  readonly ids: readonly number[];
  /** Of the cgroup: 0, BPF_F_ALLOW_OVERRIDE or BPF_F_ALLOW_MULTI. */
  readonly flags: number;
}

/** A program that the kernel's verifier refuses. */
export class VerifierError extends Error {
  override readonly name = 'VerifierError';
  readonly code: string;

  constructor(cause: SyscallError, log: string) {
    const lines = log.trim().split('\n').filter(Boolean);
    super(`the kernel refuses the program (${cause.code}): ${lines.at(-1) ?? cause.message}`, {
      cause,
    });
    this.code = cause.code;
  }
}

/** BPF_PROG_QUERY: which device programs are attached to a cgroup (not those of its ancestors). */
export function queryDevicePrograms(cgroup: number): AttachedPrograms {
  using ids = new NativeMemory(4 * mostPrograms);
  const attr = attribute((struct) => {
    struct.writeUInt32LE(cgroup, 0); // target_fd
    struct.writeUInt32LE(BPF_CGROUP_DEVICE, 4); // attach_type
    struct.writeBigUInt64LE(ids.address, 16); // prog_ids
    struct.writeUInt32LE(mostPrograms, 24); // prog_cnt
  });
  bpf(BPF_PROG_QUERY, attr);
  const count = attr.readUInt32LE(24);
  const list = ids.copy(4 * count);
  return {
    ids: Array.from({ length: count }, (_, index) => list.readUInt32LE(4 * index)),
    flags: attr.readUInt32LE(12),
  };
}

/** BPF_PROG_GET_FD_BY_ID. @throws SyscallError ENOENT where the program is gone */
export function openProgram(id: number): Descriptor {
  return new Descriptor(
    bpf(
      BPF_PROG_GET_FD_BY_ID,
      attribute((struct) => struct.writeUInt32LE(id, 0)),
    ),
  );
}

/**
 * The instructions of a loaded program after the verifier (BPF_OBJ_GET_INFO_BY_FD, `xlated_prog_insns`), 8 bytes
 * each.
 *
 * `struct bpf_prog_info`: xlated_prog_len at 20, xlated_prog_insns at 32, nr_map_ids at 52.
 *
 * @returns undefined where the kernel does not show them (`kernel.bpf_jit_harden`, no CAP_PERFMON)
 * @throws SyscallError ENOMEM where there are more than the kernel copies at once (4 MiB, 524,288 instructions)
 */
export function programInstructions(program: number): Buffer | undefined {
  const length = programInfo(program).readUInt32LE(20);
  if (length === 0) return undefined;
  using instructions = new NativeMemory(length);
  const info = programInfo(program, instructions);
  if (info.readBigUInt64LE(32) === 0n) return undefined;
  return instructions.copy(info.readUInt32LE(20));
}

function programInfo(program: number, instructions?: NativeMemory): Buffer {
  using info = new NativeMemory(232);
  const struct = Buffer.from(info.bytes.buffer, info.bytes.byteOffset, info.bytes.length);
  if (instructions) {
    struct.writeUInt32LE(instructions.bytes.length, 20);
    struct.writeBigUInt64LE(instructions.address, 32);
  }
  bpf(
    BPF_OBJ_GET_INFO_BY_FD,
    attribute((attr) => {
      attr.writeUInt32LE(program, 0); // bpf_fd
      attr.writeUInt32LE(info.bytes.length, 4); // info_len
      attr.writeBigUInt64LE(info.address, 8); // info
    }),
  );
  return info.copy();
}

/**
 * BPF_PROG_LOAD of a program of type BPF_PROG_TYPE_CGROUP_DEVICE.
 *
 * @throws {@link VerifierError}, with E2BIG where it has more instructions than the kernel takes
 */
export function loadDeviceProgram(instructions: Uint8Array): Descriptor {
  using code = NativeMemory.of(instructions);
  using license = NativeMemory.of(Buffer.from('Apache-2.0\0'));
  const load = (log?: NativeMemory) =>
    new Descriptor(
      bpf(
        BPF_PROG_LOAD,
        attribute((attr) => {
          attr.writeUInt32LE(BPF_PROG_TYPE_CGROUP_DEVICE, 0);
          attr.writeUInt32LE(instructions.length / 8, 4);
          attr.writeBigUInt64LE(code.address, 8);
          attr.writeBigUInt64LE(license.address, 16);
          if (!log) return;
          attr.writeUInt32LE(1, 24); // log_level
          attr.writeUInt32LE(log.bytes.length, 28);
          attr.writeBigUInt64LE(log.address, 32);
        }),
      ),
    );
  try {
    return untilUninterrupted(load);
  } catch (error) {
    if (!(error instanceof SyscallError) || !hasCode(error, 'EINVAL', 'EACCES', 'E2BIG'))
      throw error;
    using log = new NativeMemory(logSize);
    try {
      return load(log);
    } catch {
      const end = log.bytes.indexOf(0);
      throw new VerifierError(error, log.copy(end < 0 ? logSize : end).toString('latin1'));
    }
  }
}

/** The verifier gives up with EAGAIN when a signal comes; it is asked again, as libbpf does. */
function untilUninterrupted(load: () => Descriptor): Descriptor {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return load();
    } catch (error) {
      if (!hasCode(error, 'EAGAIN') || attempt === loadAttempts) throw error;
    }
  }
}

/** BPF_PROG_ATTACH beside what is attached, or in place of it where the cgroup does not allow several. */
export function attachDeviceProgram(cgroup: number, program: number, flags: number): void {
  bpf(BPF_PROG_ATTACH, attachment(cgroup, program, flags));
}

/**
 * Swaps one attached program for another, at once: BPF_PROG_ATTACH with BPF_F_REPLACE.
 *
 * @throws SyscallError ENOENT where `old` is not attached (any more), or was attached by a link
 */
export function replaceDeviceProgram(cgroup: number, program: number, old: number): void {
  const attr = attachment(cgroup, program, BPF_F_ALLOW_MULTI | BPF_F_REPLACE);
  attr.writeUInt32LE(old, 16); // replace_bpf_fd
  bpf(BPF_PROG_ATTACH, attr);
}

/** BPF_PROG_DETACH. */
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

/**
 * The link (BPF_LINK_CREATE) by which a program is attached to a cgroup, Linux 5.8.
 *
 * `struct bpf_link_info`: type 0, id 4, prog_id 8, cgroup_id 16, attach_type 24.
 *
 * @param cgroupId inode of the cgroup's directory
 */
export function findDeviceLink(cgroupId: bigint, programId: number): Descriptor | undefined {
  for (let id = 0; ; ) {
    const attr = attribute((struct) => struct.writeUInt32LE(id, 0)); // start_id
    try {
      bpf(BPF_LINK_GET_NEXT_ID, attr);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'EINVAL')) return undefined;
      throw error;
    }
    id = attr.readUInt32LE(4);
    const link = new Descriptor(
      bpf(
        BPF_LINK_GET_FD_BY_ID,
        attribute((each) => each.writeUInt32LE(id, 0)),
      ),
    );
    using info = new NativeMemory(64);
    bpf(
      BPF_OBJ_GET_INFO_BY_FD,
      attribute((each) => {
        each.writeUInt32LE(link.number, 0);
        each.writeUInt32LE(info.bytes.length, 4);
        each.writeBigUInt64LE(info.address, 8);
      }),
    );
    const struct = info.copy();
    const isIt =
      struct.readUInt32LE(0) === BPF_LINK_TYPE_CGROUP &&
      struct.readUInt32LE(8) === programId &&
      struct.readBigUInt64LE(16) === cgroupId &&
      struct.readUInt32LE(24) === BPF_CGROUP_DEVICE;
    if (isIt) return link;
    link[Symbol.dispose]();
  }
}

/** BPF_LINK_UPDATE with BPF_F_REPLACE. @throws SyscallError EPERM where `old` is not the link's program */
export function updateLink(link: number, program: number, old: number): void {
  bpf(
    BPF_LINK_UPDATE,
    attribute((attr) => {
      attr.writeUInt32LE(link, 0); // link_fd
      attr.writeUInt32LE(program, 4); // new_prog_fd
      attr.writeUInt32LE(BPF_F_REPLACE, 8); // flags
      attr.writeUInt32LE(old, 12); // old_prog_fd
    }),
  );
}

function attribute(fill: (struct: Buffer) => void): Buffer {
  const struct = Buffer.alloc(attrSize);
  fill(struct);
  return struct;
}

function bpf(command: number, attr: Buffer): number {
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
