import type { Archive, Member } from './archive.ts';
import type { ElfSymbol, Relocation, Section } from './elf.ts';
import {
  R_X86_64_64,
  R_X86_64_PC32,
  R_X86_64_PLT32,
  SHF_WRITE,
  SHN_LORESERVE,
  SHN_UNDEF,
  SHT_NOBITS,
  STB_LOCAL,
} from './elf-constants.ts';
import type { Patch } from './patch.ts';
import { unfit } from './static-node-error.ts';

/** An object of a library, where a static archive defines it. */
export interface ArchiveObject {
  readonly member: Member;
  readonly symbol: ElfSymbol;
  /** Undefined for a common symbol. */
  readonly section: Section | undefined;
  readonly where: string;
}

/** @throws StaticNodeError EUNFIT where no archive defines it */
export function findObject(name: string, archives: readonly Archive[]): ArchiveObject {
  for (const archive of archives) {
    const member = archive.definer(name);
    const symbol = member?.symbols.find((each) => each.name === name);
    if (member === undefined || symbol === undefined) continue;
    const section = symbol.shndx < SHN_LORESERVE ? member.elf.sectionAt(symbol.shndx) : undefined;
    return { member, symbol, section, where: `${member.archive}(${member.name})` };
  }
  throw unfit(`the binary imports what no static archive defines: ${name} (R_X86_64_COPY)`);
}

/**
 * Read-only sections are constant, and so is what the linker alone fills in `.data.rel.ro`. What is empty there
 * is written at start-up, before it becomes read-only (`__libc_stack_end`).
 */
export function isConstant({ member, symbol, section }: ArchiveObject): boolean {
  if (section === undefined) return false;
  if (!(section.flags & SHF_WRITE)) return true;
  if (!section.name.startsWith('.data.rel.ro')) return false;
  const bytes = member.elf.content(section).subarray(symbol.value, symbol.value + symbol.size);
  return bytes.some((byte) => byte !== 0) || relocationsWithin(member, section, symbol).length > 0;
}

/** Every global name of the object in its own object file (`environ`, `__environ`, `_environ`). */
export function aliasesOf({ member, symbol }: ArchiveObject): string[] {
  return member.symbols
    .filter(({ shndx, value }) => shndx === symbol.shndx && value === symbol.value)
    .map(({ name }) => name);
}

/**
 * Refuses an object that its own file reaches by another way than its global name: that code would go on using
 * the archive's place when the binary's becomes the definition.
 */
export function refuseLocalReferences({ member, symbol, section, where }: ArchiveObject): void {
  if (section === undefined) return;
  for (const table of member.elf.sections.filter(({ name }) => name.startsWith('.rela'))) {
    if (member.elf.sectionAt(table.info)?.name.startsWith('.debug')) continue;
    for (const { type, symbol: index, addend } of member.elf.relocations(table)) {
      const target = member.table[index];
      if (target?.bind !== STB_LOCAL || target.shndx !== symbol.shndx) continue;
      // The field of a PC-relative operand is followed by at most four bytes of the instruction.
      const reaches = type === R_X86_64_PC32 || type === R_X86_64_PLT32 ? [4, 5, 6, 8] : [0];
      for (const after of reaches) {
        const offset = target.value + addend + after - symbol.value;
        if (offset < 0 || offset >= symbol.size) continue;
        throw unfit(`${where} uses its ${symbol.name} by another way than the name`);
      }
    }
  }
}

/** What an object holds before the program runs, by offset within it. */
export function initialContent(object: ArchiveObject): Map<number, Patch> {
  const { member, symbol, section, where } = object;
  const content = new Map<number, Patch>();
  if (section === undefined || section.type === SHT_NOBITS) return content;
  const bytes = Buffer.from(
    member.elf.content(section).subarray(symbol.value, symbol.value + symbol.size),
  );
  for (const relocation of relocationsWithin(member, section, symbol)) {
    const offset = relocation.offset - symbol.value;
    const target = member.table[relocation.symbol];
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

function relocationsWithin(
  { elf }: Member,
  section: Section,
  { value, size }: ElfSymbol,
): Relocation[] {
  const index = elf.sections.indexOf(section);
  return elf.sections
    .filter(({ name, info }) => name.startsWith('.rela') && info === index)
    .flatMap((table) => elf.relocations(table))
    .filter(({ offset }) => offset >= value && offset < value + size);
}

/** A pointer to a global symbol, or to a string that only its own object file can name. */
function pointer(
  { member, symbol, where }: ArchiveObject,
  target: ElfSymbol,
  addend: number,
): Patch {
  if (target.bind !== STB_LOCAL) return { kind: 'symbol', name: target.name, addend };
  const section = target.shndx === SHN_UNDEF ? undefined : member.elf.sectionAt(target.shndx);
  if (section === undefined || section.flags & SHF_WRITE) {
    throw unfit(
      `${symbol.name} in ${where} points at ${target.name || section?.name}, which is local to its file`,
    );
  }
  const bytes = member.elf.content(section);
  const start = target.value + addend;
  return { kind: 'string', text: bytes.subarray(start, bytes.indexOf(0, start)) };
}
