/** What a device program is asked (`struct bpf_cgroup_dev_ctx`). */
export interface Question {
  readonly type: 'b' | 'c';
  readonly major: number;
  readonly minor: number;
  /** BPF_DEVCG_ACC_MKNOD 1, READ 2, WRITE 4. */
  readonly access: number;
}

/** Whether a program allows it: the few instructions of BPF that device programs are made of, as the kernel runs them. */
export function runProgram(program: Buffer, { type, major, minor, access }: Question): boolean {
  const context = new Map([
    [0, ((access << 16) | (type === 'b' ? 1 : 2)) >>> 0],
    [4, major],
    [8, minor],
  ]);
  const registers = new Array<number>(11).fill(0);
  for (let at = 0, steps = 0; steps < 100_000; at += 8, steps += 1) {
    const opcode = program.readUInt8(at);
    const [to, from] = [program.readUInt8(at + 1) & 15, program.readUInt8(at + 1) >> 4];
    const offset = program.readInt16LE(at + 2);
    const value = program.readInt32LE(at + 4) >>> 0;
    const register = registers[to] ?? 0;
    switch (opcode) {
      case 0x61:
        registers[to] = context.get(offset) ?? Number.NaN;
        break;
      case 0xb4:
      case 0xb7:
        registers[to] = value;
        break;
      case 0xbc:
        registers[to] = registers[from] ?? 0;
        break;
      case 0x54:
        registers[to] = (register & value) >>> 0;
        break;
      case 0x74:
        registers[to] = register >>> value;
        break;
      case 0x55:
        if (register !== value) at += offset * 8;
        break;
      case 0x95:
        return registers[0] !== 0;
      default:
        throw new Error(`an instruction that is not known here: ${opcode.toString(16)}`);
    }
  }
  throw new Error('the program does not end');
}
