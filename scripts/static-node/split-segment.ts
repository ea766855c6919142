import type { Segment } from './elf.ts';
import { Elf } from './elf.ts';
import { PF_W, PT_LOAD } from './elf-constants.ts';
import type { ProtectedRange } from './protected-range.ts';
import { unfit } from './static-node-error.ts';

/** Size of a program header, and how many more than the linker's there may be: a range divides a segment in three. */
const headerSize = 56;
export const spareHeaders = 2 * headerSize;

/**
 * Makes a range within a writable segment a read-only segment of its own; the linker would need a hole before it.
 * The linker script leaves room for the headers.
 *
 * @throws StaticNodeError EUNFIT where the range does not lie in one segment's part of the file
 */
export function splitSegment(file: Buffer, range: ProtectedRange): void {
  if (range.end <= range.start) return;
  const { segments } = new Elf(file, 'the linked program');
  const index = segments.findIndex(
    ({ type, vaddr, filesz }) =>
      type === PT_LOAD && vaddr < range.end && range.end <= vaddr + filesz,
  );
  const whole = segments[index];
  if (whole === undefined || range.start < whole.vaddr) {
    throw unfit(`no segment holds all of what was read-only (from 0x${range.start.toString(16)})`);
  }
  const middle = part(whole, range.start, range.end);
  const parts = [
    part(whole, whole.vaddr, range.start),
    { ...middle, flags: whole.flags & ~PF_W },
    part(whole, range.end, whole.vaddr + whole.memsz),
  ];
  writeHeaders(file, segments.toSpliced(index, 1, ...parts.filter(({ memsz }) => memsz > 0)));
}

function part(whole: Segment, start: number, end: number): Segment {
  const skipped = start - whole.vaddr;
  return {
    ...whole,
    offset: whole.offset + skipped,
    vaddr: start,
    memsz: end - start,
    filesz: Math.max(0, Math.min(whole.filesz - skipped, end - start)),
  };
}

function writeHeaders(file: Buffer, segments: readonly Segment[]): void {
  const table = Number(file.readBigUInt64LE(32));
  for (const [index, segment] of segments.entries()) {
    const at = table + index * headerSize;
    file.writeUInt32LE(segment.type, at);
    file.writeUInt32LE(segment.flags, at + 4);
    const { offset, vaddr, filesz, memsz, align } = segment;
    for (const [field, value] of [offset, vaddr, vaddr, filesz, memsz, align].entries()) {
      file.writeBigUInt64LE(BigInt(value), at + 8 + 8 * field);
    }
  }
  file.writeUInt16LE(segments.length, 56);
}
