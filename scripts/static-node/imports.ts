import type { Archive } from './archive.ts';
import type { ElfSymbol } from './elf.ts';
import { SHN_UNDEF, STB_WEAK } from './elf-constants.ts';
import { unfit } from './static-node-error.ts';

/** What the binary wants of its libraries. */
export interface Imports {
  /** What the archives define; it is linked also where no relocation names it (`std::ios_base_library_init`). */
  readonly bound: readonly string[];
  /** What nobody defines and may stay zero. */
  readonly weak: readonly string[];
}

/**
 * A weak import is bound wherever a library defines it, as the dynamic loader does; the linker alone would take no
 * archive's member for its sake, and leave it zero.
 *
 * @param symbols the binary's `.dynsym`
 * @throws StaticNodeError EUNFIT where no archive defines an import that is not weak
 */
export function readImports(symbols: readonly ElfSymbol[], archives: readonly Archive[]): Imports {
  const imports = symbols.filter(
    ({ name, shndx }) => shndx === SHN_UNDEF && name !== '' && name !== '__tls_get_addr',
  );
  const isBound = ({ name }: ElfSymbol) => archives.some((archive) => archive.defines(name));
  const unbound = imports.filter((symbol) => !isBound(symbol));
  const missing = unbound.filter(({ bind }) => bind !== STB_WEAK).map(({ name }) => name);
  if (missing.length > 0) {
    throw unfit(`the binary imports what no static archive defines: ${missing.sort().join(', ')}`);
  }
  return {
    bound: imports.filter(isBound).map(({ name }) => name),
    weak: unbound.map(({ name }) => name),
  };
}
