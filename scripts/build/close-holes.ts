import { Elf } from '../static-node/elf.ts';
import { SHT_NOBITS } from '../static-node/elf-constants.ts';

const page = 4096;

/**
 * Takes the ranges out of an ELF file that nothing in it refers to, by whole pages, so that what follows keeps its
 * place in a page.
 *
 * postject puts its note as far into the file as the program's memory reaches, which leaves all the zeros that the
 * loader makes of itself as bytes in the file.
 */
export function closeHoles(file: Buffer): Buffer {
  for (let closed = file; ; ) {
    const hole = firstHole(closed);
    if (hole === undefined) return closed;
    closed = without(closed, hole);
  }
}

interface Hole {
  readonly start: number;
  readonly length: number;
}

function firstHole(file: Buffer): Hole | undefined {
  const elf = new Elf(file, 'the program');
  const used = [
    [0, 64],
    table(file, 32, 54),
    table(file, 40, 58),
    ...elf.segments.map(({ offset, filesz }) => [offset, filesz] as const),
    ...elf.sections
      .filter(({ type }) => type !== SHT_NOBITS)
      .map(({ offset, size }) => [offset, size] as const),
  ] as const;
  let end = 0;
  for (const [offset, size] of used.toSorted(([a], [b]) => a - b)) {
    const length = Math.floor((offset - end) / page) * page;
    if (size > 0 && length > 0) return { start: end, length };
    if (size > 0) end = Math.max(end, offset + size);
  }
  return undefined;
}

/** Place and size of the program or section headers: `e_phoff` or `e_shoff`, and the two numbers at `sizes`. */
function table(file: Buffer, offset: number, sizes: number): readonly [number, number] {
  const size = file.readUInt16LE(sizes) * file.readUInt16LE(sizes + 2);
  return [Number(file.readBigUInt64LE(offset)), size];
}

function without(file: Buffer, { start, length }: Hole): Buffer {
  const result = Buffer.concat([file.subarray(0, start), file.subarray(start + length)]);
  const move = (at: number) => {
    const offset = result.readBigUInt64LE(at);
    if (offset >= start + length) result.writeBigUInt64LE(offset - BigInt(length), at);
  };
  move(32);
  move(40);
  for (const [field, sizes, offsetField] of [
    [32, 54, 8],
    [40, 58, 24],
  ] as const) {
    const first = Number(result.readBigUInt64LE(field));
    const [size, count] = [result.readUInt16LE(sizes), result.readUInt16LE(sizes + 2)];
    for (let index = 0; index < count; index += 1) move(first + index * size + offsetField);
  }
  return result;
}
