import type { Piece } from './assembly.ts';
import { placed } from './assembly.ts';
import { Elf, type Section } from './elf.ts';
import { PT_GNU_EH_FRAME, SHF_ALLOC, SHF_TLS, SHT_NOBITS } from './elf-constants.ts';
import type { Plan } from './plan.ts';
import { StaticNodeError, unfit } from './static-node-error.ts';
import { readUnwindTable, unwindTableSize, writeUnwindTable } from './unwind-table.ts';

/**
 * Does what only the addresses of the finished link allow: the constant copies, and one search table for the
 * unwinder. Changes `output` in place.
 *
 * @throws StaticNodeError EUNFIT where the result is not what was planned
 */
export function finish(output: Buffer, plan: Plan, pieces: readonly Piece[]): void {
  const elf = new Elf(output, 'the linked program');
  refuseOverlaps(elf, pieces);
  refuseOtherConstructors(elf, plan);
  copyConstants(elf, plan);
  mergeUnwindTables(elf, plan);
}

/** Every piece of the binary has to be where it was, and nothing else may be there. */
function refuseOverlaps(elf: Elf, pieces: readonly Piece[]): void {
  for (const { name, start, end } of pieces) {
    const section = elf.section(name);
    if (section?.addr !== start || section.size !== end - start) {
      throw unfit(`${name} is not at 0x${start.toString(16)} after the link`);
    }
  }
  const sections = elf.sections
    .filter(({ flags, size, type }) => {
      const isTlsBss = flags & SHF_TLS && type === SHT_NOBITS;
      return flags & SHF_ALLOC && size > 0 && !isTlsBss;
    })
    .sort((a, b) => a.addr - b.addr);
  for (const [index, section] of sections.entries()) {
    const next = sections[index + 1];
    if (next && section.addr + section.size > next.addr) {
      throw unfit(`the addresses of ${section.name} and ${next.name} overlap`);
    }
  }
}

/** The binary's constructors use the libraries', so they come last; its destructors run first, from the end. */
function refuseOtherConstructors(elf: Elf, plan: Plan): void {
  for (const [name, array] of [
    ['.init_array', plan.initArray],
    ['.fini_array', plan.finiArray],
  ] as const) {
    if (array === undefined) continue;
    const expected = plan.binary.content(array);
    const section = elf.section(name);
    const content = section ? elf.content(section) : Buffer.alloc(0);
    if (!content.subarray(content.length - expected.length).equals(expected)) {
      throw unfit(`${name} does not end with the binary's after the link`);
    }
  }
}

function copyConstants(elf: Elf, { copies }: Plan): void {
  if (copies.constants.length === 0) return;
  const addresses = elf.content(require(elf, placed.constants));
  for (const [index, { address, name, size }] of copies.constants.entries()) {
    const source = Number(addresses.readBigUInt64LE(8 * index));
    const [from, to] = [elf.fileOffset(source), elf.fileOffset(address)];
    if (to === undefined) throw unfit(`the place of the copy of ${name} is not in the file`);
    if (from === undefined) elf.bytes.fill(0, to, to + size);
    else elf.bytes.copy(elf.bytes, to, from, from + size);
  }
}

/**
 * The unwinder of a static program looks for PT_GNU_EH_FRAME, of which there is one. Without the binary's entries
 * in it every C++ exception in the binary would end the program.
 */
function mergeUnwindTables(elf: Elf, plan: Plan): void {
  const own = plan.binary.section('.eh_frame_hdr');
  const libraries = elf.section('.eh_frame_hdr');
  if (own === undefined || libraries === undefined) return;
  const entries = [
    ...readUnwindTable(plan.binary.content(own), own.addr),
    ...readUnwindTable(elf.content(libraries), libraries.addr),
  ];
  const place = require(elf, placed.unwindTable);
  const size = unwindTableSize(entries.length);
  if (size > place.size) {
    throw new StaticNodeError(
      'ELINK',
      `the unwinder's table needs ${size} bytes, ${place.size} are there`,
    );
  }
  const ehFrame = elf.section('.eh_frame')?.addr ?? 0;
  writeUnwindTable(entries, place.addr, ehFrame).copy(elf.bytes, place.offset);
  const header = programHeader(elf, PT_GNU_EH_FRAME);
  elf.bytes.writeBigUInt64LE(BigInt(place.offset), header + 8);
  for (const at of [16, 24]) elf.bytes.writeBigUInt64LE(BigInt(place.addr), header + at);
  for (const at of [32, 40]) elf.bytes.writeBigUInt64LE(BigInt(size), header + at);
}

function require(elf: Elf, name: string): Section {
  const section = elf.section(name);
  if (section === undefined) throw unfit(`the linked program has no ${name}`);
  return section;
}

function programHeader(elf: Elf, type: number): number {
  const index = elf.segments.findIndex((segment) => segment.type === type);
  if (index < 0) throw unfit(`the linked program has no program header of type ${type}`);
  return Number(elf.bytes.readBigUInt64LE(32)) + index * elf.bytes.readUInt16LE(54);
}
