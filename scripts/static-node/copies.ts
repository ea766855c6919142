import type { Archive, Member } from './archive.ts';
import type { ElfSymbol, Relocation, Section } from './elf.ts';
import {
  R_X86_64_64,
  SHF_WRITE,
  SHN_LORESERVE,
  SHN_UNDEF,
  SHT_NOBITS,
  SHT_SYMTAB,
  STB_LOCAL,
} from './elf-constants.ts';
import type { Patch } from './plan.ts';
import { unfit } from './static-node-error.ts';

/** An object of a library that the binary has a copy of (R_X86_64_COPY). */
export interface Copy {
  readonly address: number;
  readonly name: string;
  readonly size: number;
}

/** What becomes of the copies. */
export interface Copies {
  /** The binary's place is the definition: every name of it, by address. */
  readonly definitions: ReadonlyMap<
    number,
    { readonly names: readonly string[]; readonly size: number }
  >;
  /** What the definitions hold before anything has run. */
  readonly contents: ReadonlyMap<number, Patch>;
  /** The library's place stays the definition; its bytes are copied once they are final. */
  readonly constants: readonly Copy[];
}

/**
 * Decides for each copied object which place is the definition.
 *
 * An object that is written while the program runs must be one for all, so the binary's place, whose address is
 * part of its code, is it. What is constant after the link (a vtable, a typeinfo) may be there twice.
 *
 * @throws StaticNodeError EUNFIT
 */
export function planCopies(
  relocations: readonly { readonly relocation: Relocation; readonly symbol: ElfSymbol }[],
  symbols: readonly ElfSymbol[],
  archives: readonly Archive[],
): Copies {
  const definitions = new Map<number, { names: string[]; size: number }>();
  const contents = new Map<number, Patch>();
  const constants: Copy[] = [];
  for (const { relocation, symbol } of relocations) {
    const { name, size } = symbol;
    const address = relocation.offset;
    const object = find(name, archives);
    if (object.symbol.size !== size) {
      throw unfit(
        `${name} has ${size} bytes in the binary, and ${object.symbol.size} in ${object.where}`,
      );
    }
    if (isConstant(object)) {
      constants.push({ address, name, size });
      continue;
    }
    const names = symbols
      .filter(({ value, shndx }) => value === address && shndx !== SHN_UNDEF)
      .map((alias) => alias.name);
    definitions.set(address, { names: [...new Set([name, ...names])], size });
    for (const [offset, patch] of initialContent(object)) contents.set(address + offset, patch);
  }
  return { definitions, contents, constants };
}

/** A symbol where a static archive defines it. */
interface ArchiveObject {
  readonly member: Member;
  readonly symbol: ElfSymbol;
  /** Undefined for a common symbol. */
  readonly section: Section | undefined;
  readonly where: string;
}

function find(name: string, archives: readonly Archive[]): ArchiveObject {
  for (const archive of archives) {
    const member = archive.definer(name);
    const symbol = member?.symbols.find((each) => each.name === name);
    if (member === undefined || symbol === undefined) continue;
    const section = symbol.shndx < SHN_LORESERVE ? member.elf.sectionAt(symbol.shndx) : undefined;
    return { member, symbol, section, where: `${archive.path}(${member.name})` };
  }
  throw unfit(`the binary imports what no static archive defines: ${name} (R_X86_64_COPY)`);
}

/**
 * Read-only sections are constant, and so is what the linker alone fills in `.data.rel.ro`. What is empty there
 * is written at start-up, before it becomes read-only (`__libc_stack_end`).
 */
function isConstant({ member, symbol, section }: ArchiveObject): boolean {
  if (section === undefined) return false;
  if (!(section.flags & SHF_WRITE)) return true;
  if (!section.name.startsWith('.data.rel.ro')) return false;
  const bytes = member.elf.content(section).subarray(symbol.value, symbol.value + symbol.size);
  return bytes.some((byte) => byte !== 0) || relocationsIn(member, section, symbol).length > 0;
}

function relocationsIn(member: Member, section: Section, { value, size }: ElfSymbol): Relocation[] {
  const index = member.elf.sections.indexOf(section);
  const table = member.elf.sections.find(
    ({ name, info }) => name.startsWith('.rela') && info === index,
  );
  if (table === undefined) return [];
  return member.elf
    .relocations(table)
    .filter(({ offset }) => offset >= value && offset < value + size);
}

/** What an object holds before the program runs, by offset within it. */
function initialContent(object: ArchiveObject): Map<number, Patch> {
  const { member, symbol, section, where } = object;
  const content = new Map<number, Patch>();
  if (section === undefined || section.type === SHT_NOBITS) return content;
  const { elf } = member;
  const table = elf.sections.find(({ type }) => type === SHT_SYMTAB);
  const symbols = table ? elf.symbols(table) : [];
  const bytes = Buffer.from(
    elf.content(section).subarray(symbol.value, symbol.value + symbol.size),
  );
  for (const relocation of relocationsIn(member, section, symbol)) {
    const offset = relocation.offset - symbol.value;
    const target = symbols[relocation.symbol];
    if (relocation.type !== R_X86_64_64 || target === undefined) {
      throw unfit(`${symbol.name} in ${where} has a relocation of type ${relocation.type}`);
    }
    content.set(offset, pointer(object, target, relocation.addend));
    bytes.fill(0, offset, offset + 8);
  }
  for (let offset = 0; offset < bytes.length; offset += 8) {
    const word = bytes.subarray(offset, offset + 8);
    if (word.some((byte) => byte !== 0)) content.set(offset, { kind: 'bytes', bytes: word });
  }
  return content;
}

/** A pointer to a global symbol, or to a string that only its own object file can name. */
function pointer(
  { member, symbol, where }: ArchiveObject,
  target: ElfSymbol,
  addend: number,
): Patch {
  if (target.bind !== STB_LOCAL) return { kind: 'symbol', name: target.name, addend };
  const section = member.elf.sectionAt(target.shndx);
  if (section === undefined || section.flags & SHF_WRITE) {
    throw unfit(
      `${symbol.name} in ${where} points at ${target.name || section?.name}, which is local to its file`,
    );
  }
  const bytes = member.elf.content(section);
  const start = target.value + addend;
  return { kind: 'string', text: bytes.subarray(start, bytes.indexOf(0, start)) };
}
