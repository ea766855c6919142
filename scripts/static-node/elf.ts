import { ELFCLASS64, ELFDATA2LSB, PT_LOAD, SHT_NOBITS, SHT_RELA } from './elf-constants.ts';
import { unfit } from './static-node-error.ts';

/** A section header of elf(5), with its name. Addresses and sizes are in bytes. */
export interface Section {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly addr: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
  readonly info: number;
  readonly addralign: number;
}

/** A program header of elf(5). */
export interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly vaddr: number;
  readonly filesz: number;
  readonly memsz: number;
  readonly align: number;
}

/** A symbol of elf(5); `bind` and `type` are the halves of `st_info`. */
export interface ElfSymbol {
  readonly name: string;
  readonly bind: number;
  readonly type: number;
  readonly shndx: number;
  readonly value: number;
  readonly size: number;
}

/** `Elf64_Rela`: what has to be put at `offset`. */
export interface Relocation {
  readonly offset: number;
  readonly type: number;
  readonly symbol: number;
  readonly addend: number;
}

/** Bytes of `Elf64_Phdr` and `Elf64_Shdr`. */
const programHeaderSize = 56;
const sectionHeaderSize = 64;

/** A 64-bit little-endian ELF file in memory. */
export class Elf {
  readonly bytes: Buffer;
  readonly sections: readonly Section[];
  readonly segments: readonly Segment[];

  /** @param what the file's name, for messages */
  constructor(bytes: Buffer, what: string) {
    this.bytes = bytes;
    if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f454c46) {
      throw unfit(`${what} is not an ELF file`);
    }
    if (bytes[4] !== ELFCLASS64 || bytes[5] !== ELFDATA2LSB) {
      throw unfit(`${what} is not a 64-bit little-endian file`);
    }
    const sizes = [bytes.readUInt16LE(54), bytes.readUInt16LE(58)];
    const counts = [bytes.readUInt16LE(56), bytes.readUInt16LE(60)];
    for (const [index, size] of [programHeaderSize, sectionHeaderSize].entries()) {
      if (counts[index] !== 0 && sizes[index] !== size) {
        throw unfit(`${what} has headers of ${sizes[index]} bytes, not of ${size}`);
      }
    }
    try {
      this.segments = readSegments(bytes);
      this.sections = readSections(bytes);
    } catch (error) {
      if (error instanceof RangeError) throw unfit(`${what} is cut short: ${error.message}`);
      throw error;
    }
    for (const { name, type, offset, size } of this.sections) {
      if (type !== SHT_NOBITS && offset + size > bytes.length) {
        throw unfit(
          `${what} is cut short: ${name} ends at ${offset + size} of ${bytes.length} bytes`,
        );
      }
    }
  }

  /** `e_type`. */
  get type(): number {
    return this.bytes.readUInt16LE(16);
  }

  /** `e_machine`. */
  get machine(): number {
    return this.bytes.readUInt16LE(18);
  }

  section(name: string): Section | undefined {
    return this.sections.find((section) => section.name === name);
  }

  sectionAt(index: number): Section | undefined {
    return this.sections[index];
  }

  content(section: Section): Buffer {
    if (section.type === SHT_NOBITS) return Buffer.alloc(0);
    return this.bytes.subarray(section.offset, section.offset + section.size);
  }

  symbols(table: Section): ElfSymbol[] {
    const strings = this.sections[table.link];
    if (strings === undefined) throw unfit(`the symbol table ${table.name} has no strings`);
    const names = this.content(strings);
    const content = this.content(table);
    const symbols: ElfSymbol[] = [];
    for (let at = 0; at + 24 <= content.length; at += 24) {
      const info = content.readUInt8(at + 4);
      symbols.push({
        name: text(names, content.readUInt32LE(at)),
        bind: info >> 4,
        type: info & 15,
        shndx: content.readUInt16LE(at + 6),
        value: number64(content, at + 8),
        size: number64(content, at + 16),
      });
    }
    return symbols;
  }

  relocations(table: Section): Relocation[] {
    if (table.type !== SHT_RELA) throw unfit(`${table.name} holds relocations without addends`);
    const content = this.content(table);
    const relocations: Relocation[] = [];
    for (let at = 0; at + 24 <= content.length; at += 24) {
      relocations.push({
        offset: number64(content, at),
        type: content.readUInt32LE(at + 8),
        symbol: content.readUInt32LE(at + 12),
        addend: Number(content.readBigInt64LE(at + 16)),
      });
    }
    return relocations;
  }

  /** Where in the file so many bytes from a virtual address are; undefined where the file does not hold them. */
  fileOffset(address: number, length: number): number | undefined {
    const segment = this.segments.find(
      ({ type, vaddr, filesz }) =>
        type === PT_LOAD && address >= vaddr && address + length <= vaddr + filesz,
    );
    return segment && segment.offset + address - segment.vaddr;
  }
}

function readSegments(bytes: Buffer): Segment[] {
  const [offset, size, count] = [
    number64(bytes, 32),
    bytes.readUInt16LE(54),
    bytes.readUInt16LE(56),
  ];
  return Array.from({ length: count }, (_, index) => {
    const at = offset + index * size;
    return {
      type: bytes.readUInt32LE(at),
      flags: bytes.readUInt32LE(at + 4),
      offset: number64(bytes, at + 8),
      vaddr: number64(bytes, at + 16),
      filesz: number64(bytes, at + 32),
      memsz: number64(bytes, at + 40),
      align: number64(bytes, at + 48),
    };
  });
}

function readSections(bytes: Buffer): Section[] {
  const [offset, size, count] = [
    number64(bytes, 40),
    bytes.readUInt16LE(58),
    bytes.readUInt16LE(60),
  ];
  const headers = Array.from({ length: count }, (_, index) => {
    const at = offset + index * size;
    return {
      nameOffset: bytes.readUInt32LE(at),
      type: bytes.readUInt32LE(at + 4),
      flags: number64(bytes, at + 8),
      addr: number64(bytes, at + 16),
      offset: number64(bytes, at + 24),
      size: number64(bytes, at + 32),
      link: bytes.readUInt32LE(at + 40),
      info: bytes.readUInt32LE(at + 44),
      addralign: number64(bytes, at + 48),
    };
  });
  const strings = headers[bytes.readUInt16LE(62)];
  const names = strings
    ? bytes.subarray(strings.offset, strings.offset + strings.size)
    : Buffer.alloc(0);
  return headers.map(({ nameOffset, ...header }) => ({ name: text(names, nameOffset), ...header }));
}

/** A 64-bit number; addresses and sizes of programs are far below 2^53. */
function number64(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}

function text(strings: Buffer, offset: number): string {
  const end = strings.indexOf(0, offset);
  return strings.toString('latin1', offset, end < 0 ? strings.length : end);
}
