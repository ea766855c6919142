import { unfit } from './static-node-error.ts';

/**
 * The binary search table of `.eh_frame_hdr` (Linux Standard Base, "Exception Frames"): for each function where it
 * starts, and where the unwinder's description of it is.
 */
export interface UnwindEntry {
  readonly pc: number;
  readonly fde: number;
}

const headerSize = 12;
const entrySize = 8;

/** Encodings that GNU ld writes: pcrel|sdata4, udata4, datarel|sdata4. */
const encodings = [0x1b, 0x03, 0x3b];

/** Bytes that a table of so many entries takes. */
export function unwindTableSize(entries: number): number {
  return headerSize + entries * entrySize;
}

/** @param address where the table is when the program runs */
export function readUnwindTable(content: Buffer, address: number): UnwindEntry[] {
  if (content.length < headerSize) return [];
  if (content[0] !== 1 || encodings.some((encoding, index) => content[index + 1] !== encoding)) {
    const found = content.toString('hex', 0, 4);
    throw unfit(`.eh_frame_hdr has an encoding that is not known here: ${found}`);
  }
  const count = content.readUInt32LE(8);
  if (unwindTableSize(count) > content.length) {
    throw unfit(`.eh_frame_hdr has ${content.length} bytes, too few for ${count} entries`);
  }
  return Array.from({ length: count }, (_, index) => {
    const at = headerSize + index * entrySize;
    return { pc: address + content.readInt32LE(at), fde: address + content.readInt32LE(at + 4) };
  });
}

/** Writes one table, sorted by where functions start. `ehFrame` is only for readers that do not search the table. */
export function writeUnwindTable(
  entries: readonly UnwindEntry[],
  address: number,
  ehFrame: number,
): Buffer {
  const content = Buffer.alloc(unwindTableSize(entries.length));
  content.set([1, ...encodings]);
  content.writeInt32LE(ehFrame - (address + 4), 4);
  content.writeUInt32LE(entries.length, 8);
  const sorted = entries.toSorted((a, b) => a.pc - b.pc);
  for (const [index, { pc, fde }] of sorted.entries()) {
    content.writeInt32LE(pc - address, headerSize + index * entrySize);
    content.writeInt32LE(fde - address, headerSize + index * entrySize + 4);
  }
  return content;
}
