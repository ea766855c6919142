import type { ElfSymbol, Relocation } from './elf.ts';
import {
  R_X86_64_64,
  R_X86_64_GLOB_DAT,
  R_X86_64_IRELATIVE,
  R_X86_64_JUMP_SLOT,
  R_X86_64_TPOFF64,
  SHN_UNDEF,
} from './elf-constants.ts';
import { unfit } from './static-node-error.ts';
import type { TlsBlock } from './tls-block.ts';

/** What the assembler puts at an address in place of the binary's bytes. */
export type Patch =
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'symbol' | 'tpoff'; readonly name: string; readonly addend: number }
  | { readonly kind: 'ifunc'; readonly resolver: number }
  | { readonly kind: 'string'; readonly text: Buffer }
  | { readonly kind: 'bytes'; readonly bytes: Buffer };

/** The name that the binary's `__tls_get_addr` goes by: glibc's own counts from the start of all TLS blocks. */
export const tlsGetAddr = 'binary_tls_get_addr';

/**
 * What the dynamic loader would do for one relocation, as the linker does it.
 *
 * @param table name of the relocation's section, for messages
 * @throws StaticNodeError EUNFIT where the type of relocation is not known
 */
export function patchOf(
  { type, addend, offset, symbol: index }: Relocation,
  { name, value, shndx }: ElfSymbol,
  tls: TlsBlock,
  table: string,
): Patch {
  const isOwn = shndx !== SHN_UNDEF || index === 0;
  const symbol = (added: number): Patch =>
    isOwn
      ? { kind: 'value', value: value + added }
      : { kind: 'symbol', name: name === '__tls_get_addr' ? tlsGetAddr : name, addend: added };
  switch (type) {
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
      return symbol(0);
    case R_X86_64_64:
      return symbol(addend);
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
