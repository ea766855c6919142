import { placed } from './assembly.ts';
import { Elf, type Section } from './elf.ts';
import { PT_GNU_EH_FRAME } from './elf-constants.ts';
import { checkLinked } from './linked-checks.ts';
import type { Piece } from './pieces.ts';
import type { Plan } from './plan.ts';
import { protectedRange } from './protected-range.ts';
import { splitSegment } from './split-segment.ts';
import { StaticNodeError, unfit } from './static-node-error.ts';
import { readUnwindTable, unwindTableSize, writeUnwindTable } from './unwind-table.ts';

/**
 * Does what only the addresses of the finished link allow: the constant copies, and one search table for the
 * unwinder. Changes `linked` in place.
 *
 * @throws StaticNodeError EUNFIT where the result is not what was planned
 */
export function finish(linked: Buffer, plan: Plan, pieces: readonly Piece[]): void {
  splitSegment(linked, protectedRange(plan.binary, plan.copies));
  const elf = new Elf(linked, 'the linked program');
  checkLinked(elf, plan, pieces);
  copyConstants(elf, plan);
  mergeUnwindTables(elf, plan);
}

function copyConstants(elf: Elf, { copies }: Plan): void {
  if (copies.constants.length === 0) return;
  const addresses = elf.content(sectionOf(elf, placed.constants));
  for (const [index, { address, names, size }] of copies.constants.entries()) {
    const source = Number(addresses.readBigUInt64LE(8 * index));
    const [from, to] = [elf.fileOffset(source, size), elf.fileOffset(address, size)];
    if (from === undefined || to === undefined) {
      throw unfit(`the constant ${names[0]} or the place of its copy is not in the file`);
    }
    elf.bytes.copy(elf.bytes, to, from, from + size);
  }
}

/**
 * The unwinder of a static program looks for PT_GNU_EH_FRAME, of which there is one. Without the binary's entries
 * in it every C++ exception in the binary would end the program.
 */
function mergeUnwindTables(elf: Elf, { binary }: Plan): void {
  const libraries = sectionOf(elf, '.eh_frame_hdr');
  const own = binary.section('.eh_frame_hdr');
  const entries = [
    ...readUnwindTable(elf.content(libraries), libraries.addr),
    ...(own ? readUnwindTable(binary.content(own), own.addr) : []),
  ];
  const place = sectionOf(elf, placed.unwindTable);
  const size = unwindTableSize(entries.length);
  if (size > place.size) {
    throw new StaticNodeError(
      'ELINK',
      `the unwinder's table needs ${size} bytes, ${place.size} are there`,
    );
  }
  const ehFrame = sectionOf(elf, '.eh_frame').addr;
  writeUnwindTable(entries, place.addr, ehFrame).copy(elf.bytes, place.offset);
  const header = programHeader(elf, PT_GNU_EH_FRAME);
  elf.bytes.writeBigUInt64LE(BigInt(place.offset), header + 8);
  for (const at of [16, 24]) elf.bytes.writeBigUInt64LE(BigInt(place.addr), header + at);
  for (const at of [32, 40]) elf.bytes.writeBigUInt64LE(BigInt(size), header + at);
}

function sectionOf(elf: Elf, name: string): Section {
  const section = elf.section(name);
  if (section === undefined) throw unfit(`the linked program has no ${name}`);
  return section;
}

/** Offset of the program header of a type in the file. */
function programHeader(elf: Elf, type: number): number {
  const index = elf.segments.findIndex((segment) => segment.type === type);
  if (index < 0) throw unfit(`the linked program has no program header of type ${type}`);
  return Number(elf.bytes.readBigUInt64LE(32)) + index * elf.bytes.readUInt16LE(54);
}
