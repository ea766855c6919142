import type { Elf, Segment } from './elf.ts';
import {
  PF_W,
  PT_LOAD,
  PT_TLS,
  R_X86_64_IRELATIVE,
  SHF_ALLOC,
  SHF_TLS,
  SHF_WRITE,
  SHT_NOBITS,
  SHT_RELA,
} from './elf-constants.ts';
import { functions } from './lifecycle.ts';
import { page } from './page.ts';
import type { Piece } from './pieces.ts';
import type { Plan } from './plan.ts';
import { unfit } from './static-node-error.ts';

/**
 * Holds the linked program to the plan: everything at its address, nothing over anything else, constructors and
 * thread-local storage where they have to be.
 *
 * @throws StaticNodeError EUNFIT with what is not so
 */
export function checkLinked(elf: Elf, plan: Plan, pieces: readonly Piece[]): void {
  refuseMovedPieces(elf, pieces);
  refuseOverlaps(elf);
  refuseOtherFunctions(elf, plan);
  refuseOtherTls(elf, plan);
  refuseUnwritableRelocations(elf);
}

function refuseMovedPieces(elf: Elf, pieces: readonly Piece[]): void {
  for (const { name, start, end, flags } of pieces) {
    const section = elf.section(name);
    if (section?.addr !== start || section.size !== end - start) {
      throw unfit(`${name} is not at ${hex(start)} after the link`);
    }
    const segment = loadedBy(elf, start);
    if (Boolean(flags & SHF_WRITE) !== Boolean((segment?.flags ?? 0) & PF_W)) {
      throw unfit(`${name} is in a segment of flags ${segment?.flags} after the link`);
    }
  }
}

function loadedBy(elf: Elf, address: number): Segment | undefined {
  return elf.segments.find(
    ({ type, vaddr, memsz }) => type === PT_LOAD && address >= vaddr && address < vaddr + memsz,
  );
}

/** Sections must not overlap by a byte, and segments not by a page: the loader would put one over the other. */
function refuseOverlaps(elf: Elf): void {
  const sections = elf.sections
    .filter(({ flags, size, type }) => {
      const isTlsBss = flags & SHF_TLS && type === SHT_NOBITS;
      return flags & SHF_ALLOC && size > 0 && !isTlsBss;
    })
    .map(({ name, addr, size }) => ({ name, start: addr, end: addr + size }));
  const segments = elf.segments
    .filter(({ type }) => type === PT_LOAD)
    .map(({ vaddr, memsz }) => ({
      name: `the segment at ${hex(vaddr)}`,
      start: Math.floor(vaddr / page) * page,
      end: Math.ceil((vaddr + memsz) / page) * page,
    }));
  for (const ranges of [sections, segments]) {
    ranges.sort((a, b) => a.start - b.start);
    for (const [index, range] of ranges.entries()) {
      const next = ranges[index + 1];
      if (next && range.end > next.start) {
        throw unfit(`the addresses of ${range.name} and ${next.name} overlap`);
      }
    }
  }
}

/** The binary's constructors use the libraries', so they come last; its destructors run first, from the end. */
function refuseOtherFunctions(elf: Elf, { binary, lifecycle }: Plan): void {
  const { init, initArray, fini, finiArray } = lifecycle;
  for (const [name, expected] of [
    ['.init_array', functions(binary, init, initArray)],
    ['.fini_array', functions(binary, fini, finiArray)],
  ] as const) {
    const section = elf.section(name);
    const content = section ? elf.content(section) : Buffer.alloc(0);
    if (!content.subarray(content.length - expected.length).equals(expected)) {
      throw unfit(`${name} does not end with the binary's after the link`);
    }
  }
}

/** The template has to end where the binary's block ends, at the thread pointer. */
function refuseOtherTls(elf: Elf, { tls }: Plan): void {
  if (tls.size === 0) return;
  const segment = elf.segments.find(({ type }) => type === PT_TLS);
  const section = elf.sections.findLast(({ flags }) => flags & SHF_TLS);
  if (segment === undefined || section === undefined) throw unfit('the thread-local block is gone');
  const { vaddr, filesz, memsz, align } = segment;
  const ends = vaddr + memsz === section.addr + section.size && section.type !== SHT_NOBITS;
  if (!ends || filesz !== memsz || memsz % align !== 0 || align % tls.align !== 0) {
    throw unfit(
      `the thread-local block is not the last after the link (${memsz} bytes, aligned to ${align})`,
    );
  }
}

/** A static program applies its own IRELATIVE relocations at start-up, so they must lie where it can write. */
function refuseUnwritableRelocations(elf: Elf): void {
  for (const table of elf.sections.filter(({ type }) => type === SHT_RELA)) {
    for (const { type, offset } of elf.relocations(table)) {
      if (type !== R_X86_64_IRELATIVE || !((loadedBy(elf, offset)?.flags ?? 0) & PF_W)) {
        throw unfit(`a relocation of type ${type} at ${hex(offset)} is left after the link`);
      }
    }
  }
}

function hex(address: number): string {
  return `0x${address.toString(16)}`;
}
