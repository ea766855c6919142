/** Device programs as container runtimes write them, for tests: a list of devices that are allowed, all else denied. */

export interface AllowedDevice {
  readonly type: 'b' | 'c';
  readonly major: number;
  readonly minor?: number;
  /** Letters of r, w and m; all where it is left out. */
  readonly access?: string;
}

function instruction(
  opcode: number,
  destination: number,
  source: number,
  offset: number,
  immediate: number,
): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(opcode, 0);
  bytes.writeUInt8((source << 4) | destination, 1);
  bytes.writeInt16LE(offset, 2);
  bytes.writeInt32LE(immediate, 4);
  return bytes;
}

/** r2 type, r3 access, r4 major, r5 minor: how runc and crun begin. */
const head = [
  instruction(0x61, 2, 1, 0, 0),
  instruction(0x54, 2, 0, 0, 0xffff),
  instruction(0x61, 3, 1, 0, 0),
  instruction(0x74, 3, 0, 0, 16),
  instruction(0x61, 4, 1, 4, 0),
  instruction(0x61, 5, 1, 8, 0),
];

function rule({ type, major, minor, access = 'rwm' }: AllowedDevice): Buffer[] {
  const bits =
    (access.includes('m') ? 1 : 0) |
    (access.includes('r') ? 2 : 0) |
    (access.includes('w') ? 4 : 0);
  const tests = [
    [0x55, 2, type === 'b' ? 1 : 2],
    [0x55, 4, major],
    ...(minor === undefined ? [] : [[0x55, 5, minor]]),
  ];
  const size = tests.length + 3 + 2;
  const body = [
    // w1 = access; w1 &= ~allowed; if r1 != 0 the rule does not apply
    instruction(0xbc, 1, 3, 0, 0),
    instruction(0x54, 1, 0, 0, ~bits & 7),
    instruction(0x55, 1, 0, 2, 0),
    instruction(0xb4, 0, 0, 0, 1),
    instruction(0x95, 0, 0, 0, 0),
  ];
  return [
    ...tests.map(([opcode = 0, register = 0, value = 0], index) =>
      instruction(opcode, register, 0, size - index - 1, value),
    ),
    ...body,
  ];
}

export function deviceProgram(allowed: readonly AllowedDevice[]): Buffer {
  return Buffer.concat([
    ...head,
    ...allowed.flatMap(rule),
    instruction(0xb4, 0, 0, 0, 0),
    instruction(0x95, 0, 0, 0, 0),
  ]);
}

/** A program of so many instructions that allows everything. */
export function longProgram(length: number): Buffer {
  const filler = Array.from({ length: length - 2 }, () => instruction(0xb4, 2, 0, 0, 0));
  return Buffer.concat([...filler, instruction(0xb4, 0, 0, 0, 1), instruction(0x95, 0, 0, 0, 0)]);
}

/** A program that calls a helper (bpf_get_current_uid_gid), which cannot be loaded again from what the kernel shows. */
export function callingProgram(): Buffer {
  return Buffer.concat([
    instruction(0x85, 0, 0, 0, 15),
    instruction(0xb4, 0, 0, 0, 1),
    instruction(0x95, 0, 0, 0, 0),
  ]);
}
