import { instructionSize } from './constant-blinding.ts';
import { type DeviceRule, isSameDevice } from './device-rule.ts';

/**
 * The test for one device that is put in front of a device program: it allows all access to the device, and goes
 * on with the program for every other. It is ten instructions, of which the first is a mark to know them by.
 *
 * `struct bpf_cgroup_dev_ctx` (linux/bpf.h), pointed to by r1: access_type at 0, whose low half is the device's
 * type and whose high half the access; major at 4, minor at 8. r0 is the answer, 1 allows. r0 and r2 to r5 hold
 * nothing when a program starts, so that none depends on them.
 */
const length = 10;

/** `cdsk`, in little-endian order. */
const mark = 0x6b736463;

/** BPF_DEVCG_DEV_BLOCK and BPF_DEVCG_DEV_CHAR of linux/bpf.h. */
const types = { b: 1, c: 2 } as const;

const prefixBytes = length * instructionSize;

/** BPF_ALU|BPF_MOV|BPF_K, BPF_ALU|BPF_AND|BPF_K, BPF_LDX|BPF_MEM|BPF_W, BPF_JMP|BPF_JNE|BPF_K, BPF_JMP|BPF_EXIT. */
const [MOV, AND, LDX, JNE, EXIT] = [0xb4, 0x54, 0x61, 0x55, 0x95];

/** The instructions for a device. */
export function prefix({ type, major, minor }: DeviceRule): Buffer {
  return Buffer.concat([
    instruction(MOV, 0, 0, 0, mark),
    instruction(LDX, 2, 1, 0, 0),
    instruction(AND, 2, 0, 0, 0xffff),
    instruction(JNE, 2, 0, 6, types[type]),
    instruction(LDX, 2, 1, 4, 0),
    instruction(JNE, 2, 0, 4, major),
    instruction(LDX, 2, 1, 8, 0),
    instruction(JNE, 2, 0, 2, minor),
    instruction(MOV, 0, 0, 0, 1),
    instruction(EXIT, 0, 0, 0, 0),
  ]);
}

/** A program with a device in front; the program itself where it has the device. */
export function withDevice(program: Buffer, rule: DeviceRule): Buffer {
  return devicesOf(program).some((each) => isSameDevice(each, rule))
    ? program
    : Buffer.concat([prefix(rule), program]);
}

/** A program without a device: what is left is what was there before the device was put in front. */
export function withoutDevice(program: Buffer, rule: DeviceRule): Buffer {
  const index = devicesOf(program).findIndex((each) => isSameDevice(each, rule));
  if (index < 0) return program;
  const at = index * prefixBytes;
  return Buffer.concat([program.subarray(0, at), program.subarray(at + prefixBytes)]);
}

/** The devices that were put in front of a program, the last one first. */
export function devicesOf(program: Buffer): DeviceRule[] {
  const rules: DeviceRule[] = [];
  for (let at = 0; at + prefixBytes <= program.length; at += prefixBytes) {
    const found = program.subarray(at, at + prefixBytes);
    const immediate = (index: number) => found.readInt32LE(index * instructionSize + 4);
    const type = immediate(3) === types.b ? 'b' : 'c';
    const rule = { type, major: immediate(5), minor: immediate(7) } as const;
    if (!prefix(rule).equals(found)) break;
    rules.push(rule);
  }
  return rules;
}

/**
 * What of a program keeps it from being loaded again as it is: calls and references to maps, which the verifier has
 * replaced by what only the kernel knows.
 */
export function unloadable(program: Buffer): string | undefined {
  for (let at = 0; at + instructionSize <= program.length; at += instructionSize) {
    const opcode = program.readUInt8(at);
    const source = program.readUInt8(at + 1) >> 4;
    const number = at / instructionSize;
    if (opcode === 0x85 || opcode === 0x8d) return `it calls a function (instruction ${number})`;
    if (opcode !== 0x18) continue;
    if (source !== 0) return `it refers to a map or to kernel data (instruction ${number})`;
    at += instructionSize;
  }
  return undefined;
}

function instruction(
  opcode: number,
  destination: number,
  source: number,
  offset: number,
  immediate: number,
): Buffer {
  const bytes = Buffer.alloc(instructionSize);
  bytes.writeUInt8(opcode, 0);
  bytes.writeUInt8((source << 4) | destination, 1);
  bytes.writeInt16LE(offset, 2);
  bytes.writeInt32LE(immediate, 4);
  return bytes;
}
