import type { Archive } from './archive.ts';
import { type Copies, planCopies } from './copies.ts';
import type { Elf, ElfSymbol, Relocation, Section } from './elf.ts';
import {
  EM_X86_64,
  ET_EXEC,
  R_X86_64_COPY,
  SHF_ALLOC,
  SHF_TLS,
  SHN_UNDEF,
  SHT_NOTE,
} from './elf-constants.ts';
import type { Gap } from './gaps.ts';
import { type Imports, readImports } from './imports.ts';
import { type Lifecycle, lifecycle } from './lifecycle.ts';
import { type Patch, patchOf } from './patch.ts';
import { unfit } from './static-node-error.ts';
import { type TlsBlock, tlsBlock } from './tls-block.ts';

/** Everything that has to be known before a line is written. */
export interface Plan {
  readonly binary: Elf;
  /** Address of the binary's `main`. */
  readonly main: number;
  readonly tls: TlsBlock;
  readonly lifecycle: Lifecycle;
  /** The sections that stay, at their addresses. */
  readonly kept: readonly Section[];
  /** By address. */
  readonly patches: ReadonlyMap<number, Patch>;
  readonly imports: Imports;
  readonly copies: Copies;
  /** What the binary defines for others (`.dynsym`), by name. */
  readonly exported: ReadonlyMap<string, ElfSymbol>;
}

/** What only a dynamic loader reads, and what comes to lie among the libraries' own. */
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
  '.dynamic',
  '.init_array',
  '.fini_array',
]);

/**
 * Reads what the dynamic loader would do to the binary, and plans how the linker does it instead.
 *
 * @param gaps what is left out of the file
 * @throws StaticNodeError EUNFIT where the method does not fit, with what was found
 */
export function makePlan(binary: Elf, archives: readonly Archive[], gaps: readonly Gap[]): Plan {
  refuseOtherKinds(binary);
  const dynsym = binary.section('.dynsym');
  if (dynsym === undefined) throw unfit('the binary has no .dynsym: it is static already');
  const symbols = binary.symbols(dynsym);
  const tls = tlsBlock(binary);
  const copied: { relocation: Relocation; symbol: ElfSymbol }[] = [];
  const patches = new Map<number, Patch>();
  for (const { table, relocation, symbol } of relocations(binary, symbols)) {
    if (relocation.type === R_X86_64_COPY) {
      copied.push({ relocation, symbol });
      continue;
    }
    patches.set(relocation.offset, patchOf(relocation, symbol, tls, table));
  }
  const copies = planCopies(copied, symbols, archives);
  for (const [address, patch] of copies.contents) patches.set(address, patch);
  for (const [address, length] of gaps.flatMap(({ edges }) => edges)) {
    patches.set(address, { kind: 'bytes', bytes: Buffer.alloc(length) });
  }
  const kept = binary.sections.filter(
    ({ name, flags, type }) =>
      flags & SHF_ALLOC && !(flags & SHF_TLS) && type !== SHT_NOTE && !dropped.has(name),
  );
  refuseLostPatches(patches, [...kept, tls.initial]);
  return {
    binary,
    main: mainOf(binary),
    tls,
    lifecycle: lifecycle(binary),
    kept,
    patches,
    imports: readImports(symbols, archives),
    copies,
    exported: new Map(
      symbols.filter(({ shndx }) => shndx !== SHN_UNDEF).map((symbol) => [symbol.name, symbol]),
    ),
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
  for (const name of ['.preinit_array', '.relr.dyn', '.rel.dyn', '.rel.plt']) {
    if (binary.section(name)) throw unfit(`the binary has a ${name}, which is not known here`);
  }
}

function* relocations(binary: Elf, symbols: readonly ElfSymbol[]) {
  for (const table of ['.rela.dyn', '.rela.plt']) {
    const section = binary.section(table);
    for (const relocation of section ? binary.relocations(section) : []) {
      const symbol = symbols[relocation.symbol];
      if (symbol === undefined) {
        throw unfit(`${table} names symbol ${relocation.symbol}, which is not there`);
      }
      yield { table, relocation, symbol };
    }
  }
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
