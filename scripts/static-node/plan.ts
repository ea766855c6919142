import type { Archive } from './archive.ts';
import { type Copies, planCopies } from './copies.ts';
import type { Elf, ElfSymbol, Relocation, Section } from './elf.ts';
import {
  EM_X86_64,
  ET_EXEC,
  PT_TLS,
  R_X86_64_64,
  R_X86_64_COPY,
  R_X86_64_GLOB_DAT,
  R_X86_64_IRELATIVE,
  R_X86_64_JUMP_SLOT,
  R_X86_64_TPOFF64,
  SHF_ALLOC,
  SHF_TLS,
  SHN_UNDEF,
  SHT_NOTE,
  STB_WEAK,
} from './elf-constants.ts';
import type { Gap } from './gaps.ts';
import { unfit } from './static-node-error.ts';

/** What the assembler puts at an address in place of the binary's bytes. */
export type Patch =
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'symbol' | 'tpoff'; readonly name: string; readonly addend: number }
  | { readonly kind: 'ifunc'; readonly resolver: number }
  | { readonly kind: 'string'; readonly text: Buffer }
  | { readonly kind: 'bytes'; readonly bytes: Buffer };

/** The binary's thread-local storage; `size` is rounded up to `align`, as offsets are counted back from its end. */
export interface TlsBlock {
  readonly size: number;
  readonly align: number;
  readonly initial: Section | undefined;
}

/** Everything that has to be known before a line is written. */
export interface Plan {
  readonly binary: Elf;
  /** Address of the binary's `main`. */
  readonly main: number;
  readonly tls: TlsBlock;
  /** The sections that stay, at their addresses. */
  readonly kept: readonly Section[];
  readonly initArray: Section | undefined;
  readonly finiArray: Section | undefined;
  /** By address. */
  readonly patches: ReadonlyMap<number, Patch>;
  readonly weak: ReadonlySet<string>;
  readonly imports: ReadonlySet<string>;
  readonly copies: Copies;
  /** Names that the binary defines for others (`.dynsym`). */
  readonly exported: ReadonlySet<string>;
}

/** What only a dynamic loader reads, and what the static program has of its own. */
const dropped = new Set([
  '.interp',
  '.hash',
  '.gnu.hash',
  '.dynsym',
  '.dynstr',
  '.gnu.version',
  '.gnu.version_r',
  '.gnu.version_d',
  '.rela.dyn',
  '.rela.plt',
  '.relr.dyn',
  '.dynamic',
  '.init',
  '.fini',
  '.init_array',
  '.fini_array',
]);

/**
 * Reads what the dynamic loader would do to the binary, and plans how the linker does it instead.
 *
 * @param gaps what is left out of the file
 * @throws StaticNodeError EUNFIT where the method does not fit, with what was found
 */
export function plan(binary: Elf, archives: readonly Archive[], gaps: readonly Gap[]): Plan {
  refuseOtherKinds(binary);
  const dynsym = requireSection(binary, '.dynsym');
  const symbols = binary.symbols(dynsym);
  const tls = tlsBlock(binary);
  const copyRelocations: { relocation: Relocation; symbol: ElfSymbol }[] = [];
  const patches = new Map<number, Patch>();
  const weak = new Set<string>();
  const imports = new Set<string>();
  for (const name of ['.rela.dyn', '.rela.plt']) {
    const table = binary.section(name);
    for (const relocation of table ? binary.relocations(table) : []) {
      const symbol = symbols[relocation.symbol];
      if (symbol === undefined)
        throw unfit(`${name} names symbol ${relocation.symbol}, which is not there`);
      if (relocation.type === R_X86_64_COPY) {
        copyRelocations.push({ relocation, symbol });
        continue;
      }
      patches.set(relocation.offset, patch(relocation, symbol, tls, name));
      if (symbol.shndx === SHN_UNDEF && symbol.name !== '') {
        imports.add(symbol.name);
        if (symbol.bind === STB_WEAK) weak.add(symbol.name);
      }
    }
  }
  const kept = binary.sections.filter(
    ({ name, flags, type }) =>
      flags & SHF_ALLOC && !(flags & SHF_TLS) && type !== SHT_NOTE && !dropped.has(name),
  );
  const copies = planCopies(copyRelocations, symbols, archives);
  for (const [address, patch] of copies.contents) patches.set(address, patch);
  for (const { edges } of gaps) {
    for (const [address, length] of edges) {
      patches.set(address, { kind: 'bytes', bytes: Buffer.alloc(length) });
    }
  }
  const initArray = binary.section('.init_array');
  const finiArray = binary.section('.fini_array');
  refuseLostPatches(patches, [...kept, initArray, finiArray, tls.initial]);
  const exported = symbols.filter(({ shndx }) => shndx !== SHN_UNDEF).map(({ name }) => name);
  return {
    binary,
    main: mainOf(binary),
    tls,
    kept,
    initArray,
    finiArray,
    patches,
    weak,
    imports,
    copies,
    exported: new Set(exported),
  };
}

function refuseOtherKinds(binary: Elf): void {
  if (binary.machine !== EM_X86_64) {
    throw unfit(`the binary is of machine ${binary.machine}, not of x86-64 (${EM_X86_64})`);
  }
  if (binary.type !== ET_EXEC) {
    throw unfit(
      `the binary is of type ${binary.type}, not ET_EXEC (${ET_EXEC}): the addresses in a position-independent one are not final`,
    );
  }
  if (binary.section('.preinit_array')) throw unfit('the binary has a .preinit_array');
  if (binary.section('.relr.dyn')) throw unfit('the binary has a .relr.dyn');
}

function requireSection(binary: Elf, name: string): Section {
  const section = binary.section(name);
  if (section === undefined) throw unfit(`the binary has no ${name}`);
  return section;
}

function mainOf(binary: Elf): number {
  const symtab = binary.section('.symtab');
  if (symtab === undefined)
    throw unfit('the binary is stripped: its .symtab is needed to find main');
  const main = binary
    .symbols(symtab)
    .find(({ name, shndx }) => name === 'main' && shndx !== SHN_UNDEF);
  if (main === undefined) throw unfit('the binary has no symbol main');
  return main.value;
}

function tlsBlock(binary: Elf): TlsBlock {
  const segment = binary.segments.find(({ type }) => type === PT_TLS);
  if (segment === undefined) return { size: 0, align: 1, initial: undefined };
  const align = Math.max(segment.align, 1);
  const initial = binary.sections.find(
    ({ flags, addr, name }) => flags & SHF_TLS && addr === segment.vaddr && name === '.tdata',
  );
  if (segment.filesz !== (initial?.size ?? 0)) {
    throw unfit(
      `the initial TLS image has ${segment.filesz} bytes, but .tdata ${initial?.size ?? 0}`,
    );
  }
  return { size: Math.ceil(segment.memsz / align) * align, align, initial };
}

function patch(relocation: Relocation, symbol: ElfSymbol, tls: TlsBlock, table: string): Patch {
  const { type, addend, offset } = relocation;
  const isOwn = symbol.shndx !== SHN_UNDEF || relocation.symbol === 0;
  const { name, value } = symbol;
  switch (type) {
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
      return isOwn ? { kind: 'value', value } : { kind: 'symbol', name, addend: 0 };
    case R_X86_64_64:
      return isOwn ? { kind: 'value', value: value + addend } : { kind: 'symbol', name, addend };
    case R_X86_64_TPOFF64:
      return isOwn
        ? { kind: 'value', value: value + addend - tls.size }
        : { kind: 'tpoff', name, addend };
    case R_X86_64_IRELATIVE:
      return { kind: 'ifunc', resolver: addend };
    default:
      throw unfit(
        `${table} has a relocation of type ${type} (${name || 'no symbol'}) at 0x${offset.toString(16)}, which is not known here`,
      );
  }
}

function refuseLostPatches(
  patches: ReadonlyMap<number, Patch>,
  places: readonly (Section | undefined)[],
): void {
  for (const address of patches.keys()) {
    const isKept = places.some(
      (section) => section && address >= section.addr && address < section.addr + section.size,
    );
    if (!isKept)
      throw unfit(`a relocation at 0x${address.toString(16)} lies in no section that is kept`);
  }
}
