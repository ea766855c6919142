import { placed } from '../static-node/assembly.ts';
import { Elf } from '../static-node/elf.ts';
import { PT_LOAD } from '../static-node/elf-constants.ts';
import { adviceSize, mostAdvice } from '../static-node/start-up.ts';
import profile from './start-up-pages.json' with { type: 'json' };

/** Advice of madvise(2). */
const MADV_RANDOM = 1;
const MADV_WILLNEED = 3;

const page = 4096;

/** A range of the program's memory. */
export interface PageRange {
  readonly start: number;
  readonly length: number;
}

/**
 * Fills in what the program tells the kernel when it starts: that its pages are used here and there, and which of
 * them every start needs, which are then read in a few large steps.
 *
 * The pages of the binary were measured (`scripts/profile-start-up.ts`); its addresses are the same in every build of
 * a version of Node.js. The libraries' are not, and are taken whole.
 *
 * @param program is changed in place
 * @param node version of Node.js that it was made of
 */
export function adviseStartUp(program: Buffer, node: string): void {
  const elf = new Elf(program, 'the program');
  const table = elf.section(placed.startUpAdvice);
  if (table === undefined) throw new Error(`the program has no ${placed.startUpAdvice}`);
  const hot = profile.node === node ? profile.ranges.map(toRange) : [];
  const libraries = ['.text', '.rodata'].flatMap((name) => {
    const section = elf.section(name);
    return section ? wholePages(section.addr, section.size) : [];
  });
  const advice = [
    ...fileBacked(elf).map((range) => ({ ...range, advice: MADV_RANDOM })),
    ...[...libraries, ...hot].map((range) => ({ ...range, advice: MADV_WILLNEED })),
  ];
  if (advice.length >= mostAdvice)
    throw new Error(`${advice.length} ranges are too many to advise`);
  for (const [index, { start, length, advice: number }] of advice.entries()) {
    const at = table.offset + index * adviceSize;
    program.writeBigUInt64LE(BigInt(start), at);
    program.writeBigUInt64LE(BigInt(length), at + 8);
    program.writeBigUInt64LE(BigInt(number), at + 16);
  }
}

/** What of the program is read from its file. */
export function fileBacked(elf: Elf): PageRange[] {
  return elf.segments
    .filter(({ type, filesz }) => type === PT_LOAD && filesz > 0)
    .map(({ vaddr, filesz }) => wholePages(vaddr, filesz));
}

function wholePages(start: number, length: number): PageRange {
  const first = Math.floor(start / page) * page;
  return { start: first, length: Math.ceil((start + length) / page) * page - first };
}

function toRange([start = 0, length = 0]: readonly number[]): PageRange {
  return { start, length };
}
