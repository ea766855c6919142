import t from 'tap';
import { deviceProgram } from '../../../scripts/demo/device-program.ts';
import {
  isBlinded,
  isEquivalent,
  unblinded,
} from '../../../src/mounter/devices/constant-blinding.ts';
import { prefix } from '../../../src/mounter/devices/filter-prefix.ts';
import { instruction } from '../../support/device-programs.ts';

/** A program as Linux 6.18 shows it with net.core.bpf_jit_harden=2. */
const shown = `
  6112000000000000 b40b000037d73bd6 a40b0000c8283bd6 5cb2000000000000 6113000000000000 7403000010000000
  6114040000000000 6115080000000000 b70b00003441daf6 a70b00003641daf6 5db2110000000000 b70b00009696dd5a
  a70b00009796dd5a 5db40e0000000000 b70b00009c512bcd a70b00009f512bcd 5db50b0000000000 bc31000000000000
  b40b0000cc69ada0 a40b0000cc69ada0 5cb1000000000000 b70b0000452973a5 a70b0000452973a5 5db1040000000000
  b40b0000f6b0a5b2 a40b0000f7b0a5b2 bcb0000000000000 9500000000000000 b70b00000fbce696 a70b00000ebce696
  5db20e0000000000 b70b00002ed7969a a70b000029d7969a 5db40b0000000000 bc31000000000000 b40b000026aa0648
  a40b000023aa0648 5cb1000000000000 b70b0000c6de69b5 a70b0000c6de69b5 5db1040000000000 b40b000098296151
  a40b000099296151 bcb0000000000000 9500000000000000 af00000000000000 9500000000000000`;

t.test('what a kernel has blinded', async (t) => {
  const blinded = Buffer.from(shown.replaceAll(/\s/g, ''), 'hex');
  // It blinds no shift.
  const original = deviceProgram([
    { type: 'c', major: 1, minor: 3 },
    { type: 'b', major: 7, access: 'r' },
  ]);
  // The move of 0 at its end was one of 32 bits.
  original.writeUInt8(0xb7, original.length - 16);
  t.ok(isBlinded(blinded));
  t.notOk(isBlinded(original));
  t.equal(unblinded(blinded)?.toString('hex'), original.toString('hex'));
  t.equal(unblinded(original), original, 'what is not blinded is left as it is');
});

/** What the kernel does, written from its description: each immediate by way of register 11, jumps adjusted. */
function blind(program: Buffer, random: () => number): Buffer {
  const instructions = Array.from({ length: program.length / 8 }, (_, index) =>
    Buffer.from(program.subarray(index * 8, index * 8 + 8)),
  );
  const kind = (each: Buffer) => each.readUInt8(0) & 7;
  const isJump = (each: Buffer) => [5, 6].includes(kind(each)) && each.readUInt8(0) !== 0x95;
  const takesImmediate = (each: Buffer) =>
    ![0x95, 0x05, 0x06, 0x74, 0x77].includes(each.readUInt8(0)) &&
    ([4, 5, 6, 7].includes(kind(each)) ? (each.readUInt8(0) & 8) === 0 : kind(each) === 2);
  const isZero = (each: Buffer) =>
    [0xb4, 0xb7].includes(each.readUInt8(0)) && each.readInt32LE(4) === 0;
  const sizes = instructions.map((each) => (takesImmediate(each) && !isZero(each) ? 3 : 1));
  const starts: number[] = [0];
  for (const size of sizes) starts.push((starts.at(-1) ?? 0) + size);
  return Buffer.concat(
    instructions.flatMap((each, index) => {
      const [opcode, registers] = [each.readUInt8(0), each.readUInt8(1)];
      if (isJump(each)) {
        const next = (starts[index] ?? 0) + (sizes[index] ?? 0);
        const isFar = opcode === 0x06;
        const target = index + 1 + (isFar ? each.readInt32LE(4) : each.readInt16LE(2));
        const offset = (starts[target] ?? 0) - next;
        if (isFar) each.writeInt32LE(offset, 4);
        else each.writeInt16LE(offset, 2);
      }
      if (takesImmediate(each) && isZero(each)) {
        return [instruction(0xaf, registers & 0xf, registers & 0xf)];
      }
      if (!takesImmediate(each)) return [each];
      const mask = random() | 0;
      const [move, xor] = [4, 6].includes(opcode & 7) ? [0xb4, 0xa4] : [0xb7, 0xa7];
      each.writeUInt8((opcode & 7) === 2 ? opcode + 1 : opcode | 8, 0);
      each.writeUInt8((registers & 0xf) | 0xb0, 1);
      const immediate = each.readInt32LE(4);
      each.writeInt32LE(0, 4);
      return [
        instruction(move, 11, 0, 0, mask ^ immediate),
        instruction(xor, 11, 0, 0, mask),
        each,
      ];
    }),
  );
}

t.test('programs of any kind and length', async (t) => {
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return seed;
  };
  const below = (limit: number) => (random() >>> 8) % limit;
  const kinds = [
    () => instruction(0xb4, below(10), 0, 0, random() | 0 || 1),
    () => instruction(0x54, below(10), 0, 0, random() | 0),
    () => instruction(0x07, below(10), 0, 0, random() | 0),
    () => instruction(0x61, below(10), 1, 4, 0),
    () => instruction(0xbc, below(10), below(10)),
    () => instruction(0x7a, 10, 0, -8, random() | 0),
    () => instruction(0xb7, below(10), 0, 0, 0),
    () => instruction(0x74, below(10), 0, 0, 16),
  ];
  const jumps = [0x55, 0x15, 0x56, 0x2d, 0x05, 0x06];
  for (let round = 0; round < 300; round += 1) {
    const length = 1 + below(60);
    const program = Buffer.concat(
      Array.from({ length }, (_, index) => {
        const kind = below(kinds.length + jumps.length);
        const opcode = jumps[kind - kinds.length];
        if (opcode === undefined) return kinds[kind]?.() ?? instruction(0x95);
        const offset = below(length + 1) - index - 1;
        if (opcode === 0x06) return instruction(opcode, 0, 0, 0, offset);
        return instruction(
          opcode,
          below(10),
          opcode === 0x2d ? 1 : 0,
          offset,
          opcode === 0x05 || opcode === 0x2d ? 0 : random() | 0,
        );
      }),
    );
    const back = unblinded(blind(program, random));
    if (!back?.equals(program)) t.equal(back?.toString('hex'), program.toString('hex'));
  }
  const devices = Buffer.concat([
    ...[0, 1, 259].map((minor) => prefix({ type: 'b', major: 7, minor })),
    deviceProgram([{ type: 'c', major: 1, minor: 3 }]),
  ]);
  const back = unblinded(blind(devices, random));
  t.ok(back && isEquivalent(back, devices), 'devices that were put in front');
  t.notOk(back?.equals(devices), 'but for the moves of 0');
});

t.test('what is blinded in another way is told', async (t) => {
  const mask = [instruction(0xb7, 11, 0, 0, 5), instruction(0xa7, 11, 0, 0, 7)];
  for (const [why, program] of Object.entries({
    'a shift of it': [...mask, instruction(0x67, 11, 0, 0, 32), instruction(0x95)],
    'half of it': mask,
    'a jump into the middle': [
      instruction(0x05, 0, 0, 1),
      ...mask,
      instruction(0x5d, 2, 11, 0),
      instruction(0x95),
    ],
    'another register': [
      instruction(0xb7, 11, 0, 0, 5),
      instruction(0xa7, 3, 0, 0, 7),
      instruction(0x95),
    ],
  })) {
    t.equal(unblinded(Buffer.concat(program)), undefined, why);
  }
});

t.test('a program of nothing but a move of 0', async (t) => {
  const [move, xor] = [instruction(0xb7, 0), instruction(0xaf, 0, 0)];
  const exit = instruction(0x95);
  t.strictSame(unblinded(Buffer.concat([xor, exit])), Buffer.concat([move, exit]));
  const own = Buffer.concat([instruction(0xb7, 0, 0, 0, 1), xor, exit]);
  t.equal(unblinded(own), own, 'with a constant in sight it is the program’s own');
});

t.test('which programs do the same', async (t) => {
  const move = (opcode: number, value: number) => instruction(opcode, 0, 0, 0, value);
  t.ok(isEquivalent(move(0xb4, 0), move(0xb7, 0)));
  t.notOk(isEquivalent(move(0xb4, -1), move(0xb7, -1)), 'only one of them extends the sign');
  t.notOk(isEquivalent(move(0xb4, 0), move(0xb4, 1)));
  t.notOk(isEquivalent(move(0xb4, 0), Buffer.concat([move(0xb4, 0), instruction(0x95)])));
});
