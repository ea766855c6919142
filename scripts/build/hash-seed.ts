import { Elf } from '../static-node/elf.ts';
import { PF_W, PT_LOAD } from '../static-node/elf-constants.ts';

const page = 4096;

/** The name of V8's flag, as it is in the table of flags (`Flag` in deps/v8/src/flags/flags.cc). */
const flagName = '\0rehash_snapshot\0';

/** Bytes at the end of the page of all flags (`v8_flags`, a page for itself) in which no flag may be. */
const unused = 64;

/**
 * Has V8 keep the hash seed of its snapshot. Node.js sets `--rehash-snapshot`, so that every start makes a random
 * seed, for which it looks for prime numbers, and hashes anew whatever is in the snapshot: a fifth of a start.
 *
 * A random seed is for programs in which others choose the keys of objects, and here nobody does. The flag
 * `--no-rehash-snapshot` would do the same, but V8 then rejects its code cache, which is made for other flags. So the
 * flag stays set as everybody sees it; it is the place of its value that V8 looks at no more.
 *
 * @param program is changed in place
 * @throws Error where V8 is not as it is known here
 */
export function keepHashSeed(program: Buffer): void {
  const { at, value } = findFlag(program);
  program.writeBigUInt64LE(BigInt(lastOfPage(value)), at);
}

/** Whether {@link keepHashSeed} was done. */
export function keepsHashSeed(program: Buffer): boolean {
  const { value } = findFlag(program);
  return value === lastOfPage(value);
}

function lastOfPage(address: number): number {
  return address - (address % page) + page - 1;
}

/** Where in the file the address of the flag's value is, and that address. */
function findFlag(program: Buffer): { readonly at: number; readonly value: number } {
  const elf = new Elf(program, 'the program');
  const name = program.indexOf(flagName, 0, 'latin1') + 1;
  const held = elf.segments.find(
    ({ type, offset, filesz }) => type === PT_LOAD && name >= offset && name < offset + filesz,
  );
  if (name === 0 || held === undefined) throw unknown('its name is missing');
  const pointer = Buffer.alloc(8);
  pointer.writeBigUInt64LE(BigInt(held.vaddr + name - held.offset));
  const entries = elf.segments
    .filter(({ type, flags }) => type === PT_LOAD && flags & PF_W)
    .flatMap(({ offset, filesz }) => occurrences(program, pointer, offset, offset + filesz));
  const [entry] = entries;
  if (entry === undefined || entries.length > 1)
    throw unknown(`it is there ${entries.length} times`);
  // `Flag`: type, name, address of the value, address of the default value.
  const value = Number(program.readBigUInt64LE(entry + 8));
  const standard = Number(program.readBigUInt64LE(entry + 16));
  const [valueAt, standardAt, endAt] = [
    elf.fileOffset(value, 1),
    elf.fileOffset(standard, 1),
    elf.fileOffset(lastOfPage(value) + 1 - unused, unused),
  ];
  if (valueAt === undefined || standardAt === undefined || endAt === undefined) {
    throw unknown('its value is not in the file');
  }
  if (program[valueAt] !== 0 || program[standardAt] !== 0) throw unknown('it is set already');
  if (program.subarray(endAt, endAt + unused).some((byte) => byte !== 0)) {
    throw unknown('the end of the page of the flags is in use');
  }
  return { at: entry + 8, value };
}

function occurrences(bytes: Buffer, wanted: Buffer, start: number, end: number): number[] {
  const found: number[] = [];
  for (
    let at = bytes.indexOf(wanted, start);
    at >= 0 && at < end;
    at = bytes.indexOf(wanted, at + 8)
  ) {
    if (at % 8 === 0) found.push(at);
  }
  return found;
}

function unknown(why: string): Error {
  return new Error(`V8's flag rehash_snapshot is not as it is known here: ${why}`);
}
