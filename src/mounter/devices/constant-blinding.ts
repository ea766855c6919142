/**
 * With `net.core.bpf_jit_harden=2` the kernel blinds the constants of each program that it loads, and then shows it
 * as it has become (kernel/bpf/core.c, bpf_jit_blind_insn): an instruction with an immediate is three,
 *
 *     ax = random ^ immediate; ax ^= random; the instruction, with register ax instead of the immediate
 *
 * and a move of 0 is `register ^= register`. No program may name ax itself, so what has it can only be loaded again
 * after this is taken back. Whether a move of 0 was one of 32 or of 64 bits is lost; both clear the register.
 */
const AX = 11;

/** Bytes of an instruction (`struct bpf_insn`): opcode, registers, offset (16 bits), immediate (32 bits). */
export const instructionSize = 8;

const MOV32 = 0xb4;
const MOV64 = 0xb7;
const XOR32 = 0xa4;
const XOR64 = 0xa7;
const XOR64_REGISTER = 0xaf;

/** BPF_X, the bit that tells a register from an immediate. */
const X = 0x08;

/** Classes of instructions, the low three bits of an opcode. */
const [STX, ALU, JMP, JMP32, ALU64] = [3, 4, 5, 6, 7];
/** BPF_LSH, BPF_RSH, BPF_NEG, BPF_ARSH, BPF_END. */
const unblindable = new Set([0x60, 0x70, 0x80, 0xc0, 0xd0]);
const JA = 0x05;
const JA32 = 0x06;
const CALL = 0x85;
const EXIT = 0x95;

interface Instruction {
  /** Position in the program as it was read. */
  readonly from: number;
  /** Position of the next one there. */
  readonly next: number;
  readonly bytes: Buffer;
}

/**
 * Whether the constants of a program are blinded: it has ax, or it has no constants but moves of 0, and those as they
 * become.
 */
export function isBlinded(program: Buffer): boolean {
  const each = instructionsOf(program);
  return each.some(hasAX) || (each.some(isSelfXor) && !each.some(hasConstant));
}

function instructionsOf(program: Buffer): Buffer[] {
  const count = Math.floor(program.length / instructionSize);
  return Array.from({ length: count }, (_, index) =>
    program.subarray(index * instructionSize, (index + 1) * instructionSize),
  );
}

function hasAX(instruction: Buffer): boolean {
  const registers = instruction.readUInt8(1);
  return (registers & 0xf) === AX || registers >> 4 === AX;
}

function isSelfXor(instruction: Buffer): boolean {
  const registers = instruction.readUInt8(1);
  return instruction.readUInt8(0) === XOR64_REGISTER && (registers & 0xf) === registers >> 4;
}

/** Whether it has an immediate of the kind that would have been blinded. Shifts and the like are not. */
function hasConstant(instruction: Buffer): boolean {
  const opcode = instruction.readUInt8(0);
  const [kind, operation] = [opcode & 7, opcode & 0xf0];
  if (opcode & X) return false;
  if (kind === ALU || kind === ALU64) return !unblindable.has(operation);
  return jumps(instruction) && opcode !== JA && opcode !== JA32;
}

/** A program with its constants; undefined where it is blinded in another way than is known here. */
export function unblinded(program: Buffer): Buffer | undefined {
  if (!isBlinded(program)) return program;
  const instructions: Instruction[] = [];
  for (let from = 0; from * instructionSize < program.length; ) {
    const instruction = instructionAt(program, from);
    instructions.push(instruction);
    from = instruction.next;
  }
  const positions = new Map(instructions.map(({ from }, index) => [from, index]));
  positions.set(program.length / instructionSize, instructions.length);
  for (const [index, { next, bytes }] of instructions.entries()) {
    if (!jumps(bytes)) continue;
    const field = bytes.readUInt8(0) === JA32 ? 4 : 2;
    const offset = field === 4 ? bytes.readInt32LE(4) : bytes.readInt16LE(2);
    const target = positions.get(next + offset);
    if (target === undefined) return undefined;
    if (field === 4) bytes.writeInt32LE(target - index - 1, 4);
    else bytes.writeInt16LE(target - index - 1, 2);
  }
  const whole = Buffer.concat(instructions.map(({ bytes }) => bytes));
  return instructionsOf(whole).some(hasAX) ? undefined : whole;
}

/** Whether two programs do the same, instruction by instruction: they may move 0 by 32 or by 64 bits. */
export function isEquivalent(one: Buffer, other: Buffer): boolean {
  return one.equals(other) || withWideZeros(one).equals(withWideZeros(other));
}

function withWideZeros(program: Buffer): Buffer {
  const wide = Buffer.from(program);
  for (let at = 0; at < wide.length; at += instructionSize) {
    if (wide.readUInt8(at) === MOV32 && wide.readInt32LE(at + 4) === 0) wide.writeUInt8(MOV64, at);
  }
  return wide;
}

function instructionAt(program: Buffer, from: number): Instruction {
  const slice = (index: number) =>
    program.subarray((from + index) * instructionSize, (from + index + 1) * instructionSize);
  const [first, second, third] = [slice(0), slice(1), slice(2)];
  const plain = Buffer.from(first);
  if (third.length === instructionSize && isMasked(first, second, third)) {
    const bytes = Buffer.from(third);
    const opcode = bytes.readUInt8(0);
    const isStore = (opcode & 7) === STX;
    bytes.writeUInt8(isStore ? opcode - 1 : opcode & ~X, 0);
    bytes.writeUInt8(bytes.readUInt8(1) & 0xf, 1);
    bytes.writeInt32LE(first.readInt32LE(4) ^ second.readInt32LE(4), 4);
    return { from, next: from + 3, bytes };
  }
  if (isSelfXor(plain)) {
    plain.writeUInt8(MOV64, 0);
    plain.writeUInt8(plain.readUInt8(1) & 0xf, 1);
  }
  return { from, next: from + 1, bytes: plain };
}

function isMasked(first: Buffer, second: Buffer, third: Buffer): boolean {
  const [move, xor] = [first.readUInt8(0), second.readUInt8(0)];
  const isPair = (move === MOV32 && xor === XOR32) || (move === MOV64 && xor === XOR64);
  const isOfAX = first.readUInt8(1) === AX && second.readUInt8(1) === AX;
  const kind = third.readUInt8(0) & 7;
  const takesImmediate = [STX, ALU, JMP, JMP32, ALU64].some((each) => each === kind);
  return isPair && isOfAX && takesImmediate && third.readUInt8(1) >> 4 === AX;
}

function jumps(instruction: Buffer): boolean {
  const opcode = instruction.readUInt8(0);
  const kind = opcode & 7;
  if (opcode === JA || opcode === JA32) return true;
  return (kind === JMP || kind === JMP32) && opcode !== CALL && opcode !== EXIT;
}
