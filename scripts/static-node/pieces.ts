import type { Section } from './elf.ts';
import { SHF_WRITE, SHT_NOBITS } from './elf-constants.ts';
import type { Gap } from './gaps.ts';
import type { Plan } from './plan.ts';
import { protectedRange } from './protected-range.ts';

/** A part of a section of the binary: a section of the assembly, which the linker script puts at its address. */
export interface Piece {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** Whether its bytes are in the file. */
  readonly isFilled: boolean;
  /** `sh_flags`. */
  readonly flags: number;
  readonly section: Section;
}

/**
 * The binary's sections, cut where what becomes of them changes: without the gaps, read-only where nothing writes
 * any more, and with the zeros at the end of `.bss` left to the loader.
 */
export function cutIntoPieces(plan: Plan, gaps: readonly Gap[]): Piece[] {
  const constant = protectedRange(plan.binary, plan.copies);
  const isWithin = (address: number, { start, end }: { start: number; end: number }) =>
    address >= start && address < end;
  return plan.kept.flatMap((section) => {
    const { addr, size, type, flags } = section;
    const filledUntil = type === SHT_NOBITS ? lastContent(plan, section) : addr + size;
    const ranges = [...gaps, constant];
    const cuts = [filledUntil, ...ranges.flatMap(({ start, end }) => [start, end]), addr + size]
      .filter((cut) => cut > addr && cut <= addr + size)
      .sort((a, b) => a - b);
    const pieces: Piece[] = [];
    let start = addr;
    for (const end of cuts) {
      if (end === start) continue;
      pieces.push({
        name: `.binary${section.name.replace(/^\.?/, '.')}.${start.toString(16)}`,
        start,
        end,
        isFilled: start < filledUntil && !gaps.some((gap) => isWithin(start, gap)),
        flags: isWithin(start, constant) ? flags & ~SHF_WRITE : flags,
        section,
      });
      start = end;
    }
    return pieces;
  });
}

/** Copies with content lie at the start of `.bss`: up to here it has to be in the file. */
function lastContent({ patches, copies }: Plan, { addr, size }: Section): number {
  const ends = [
    ...Array.from(patches.keys(), (address) => address + 8),
    ...copies.constants.map((copy) => copy.address + copy.size),
  ].filter((end) => end > addr && end <= addr + size);
  return Math.max(addr, ...ends);
}
