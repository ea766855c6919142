import {
  attribute,
  BPF_OBJ_GET_INFO_BY_FD,
  BPF_PROG_GET_FD_BY_ID,
  BPF_PROG_LOAD,
  bpf,
} from './bpf.ts';
import { Descriptor } from './descriptor.ts';
import { NativeMemory } from './native-memory.ts';
import { hasCode, SyscallError } from './syscall-error.ts';

/** `enum bpf_prog_type`. */
const BPF_PROG_TYPE_CGROUP_DEVICE = 15;

/** Length of `struct bpf_prog_info`; an older kernel fills in less of it. */
const infoSize = 232;

/** BPF_OBJ_NAME_LEN: a name and its null byte. */
const nameLength = 16;

/** Of the verifier's log, of which the end says what was wrong. */
const logSize = 1 << 16;

/** How often a load is tried that a signal has interrupted. */
const loadAttempts = 100;

/** A loaded program. */
export interface ProgramInfo {
  readonly id: number;
  /** Up to 15 letters, digits, `_` and `.`; empty where it was given none. */
  readonly name: string;
  /**
   * The instructions after the verifier, 8 bytes each (`xlated_prog_insns`); undefined where the kernel does not show
   * them: no CAP_SYS_ADMIN or CAP_PERFMON, or constants are blinded and `kernel.kptr_restrict` hides the addresses.
   */
  readonly instructions: Buffer | undefined;
}

/** A program that the kernel's verifier refuses. */
export class VerifierError extends Error {
  override readonly name = 'VerifierError';
  readonly code: string;

  constructor(cause: SyscallError, log: string) {
    // Its last line is a statistic, the one before says what is wrong.
    const lines = log.split('\n').filter((line) => line !== '' && !line.startsWith('processed '));
    super(`the kernel refuses the program (${cause.code}): ${lines.at(-1) ?? cause.message}`, {
      cause,
    });
    this.code = cause.code;
  }
}

/** BPF_PROG_GET_FD_BY_ID. @throws SyscallError ENOENT where the program is gone */
export function openProgram(id: number): Descriptor {
  return new Descriptor(
    bpf(
      BPF_PROG_GET_FD_BY_ID,
      attribute((attr) => attr.writeUInt32LE(id, 0)), // prog_id
    ),
  );
}

/**
 * BPF_OBJ_GET_INFO_BY_FD of a program.
 *
 * @throws SyscallError ENOMEM where it has more instructions than the kernel copies at once (4 MiB, 524,288 of them)
 */
export function programInfo(program: number): ProgramInfo {
  const info = readInfo(program);
  const name = info.toString('latin1', 64, 64 + nameLength).replace(/\0.*/s, '');
  return {
    id: info.readUInt32LE(4),
    name,
    instructions: readInstructions(program, info.readUInt32LE(20)),
  };
}

function readInstructions(program: number, length: number): Buffer | undefined {
  if (length === 0) return undefined;
  using instructions = new NativeMemory(length);
  const info = readInfo(program, instructions);
  if (info.readBigUInt64LE(32) === 0n) return undefined;
  return instructions.copy(info.readUInt32LE(20));
}

/** `struct bpf_prog_info`: id 4, xlated_prog_len 20, xlated_prog_insns 32, name 64. */
function readInfo(program: number, instructions?: NativeMemory): Buffer {
  using info = new NativeMemory(infoSize);
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
export function loadDeviceProgram(instructions: Uint8Array, name = ''): Descriptor {
  using code = NativeMemory.of(instructions);
  using license = NativeMemory.of(Buffer.from('Apache-2.0\0'));
  const load = (log?: NativeMemory) =>
    new Descriptor(
      bpf(
        BPF_PROG_LOAD,
        attribute((attr) => {
          attr.writeUInt32LE(BPF_PROG_TYPE_CGROUP_DEVICE, 0); // prog_type
          attr.writeUInt32LE(instructions.length / 8, 4); // insn_cnt
          attr.writeBigUInt64LE(code.address, 8); // insns
          attr.writeBigUInt64LE(license.address, 16); // license
          attr.write(name, 48, nameLength - 1, 'latin1'); // prog_name
          if (!log) return;
          attr.writeUInt32LE(1, 24); // log_level
          attr.writeUInt32LE(log.bytes.length, 28); // log_size
          attr.writeBigUInt64LE(log.address, 32); // log_buf
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
