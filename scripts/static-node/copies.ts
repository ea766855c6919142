import type { Archive, Member } from './archive.ts';
import {
  aliasesOf,
  findObject,
  initialContent,
  isConstant,
  refuseLocalReferences,
} from './archive-object.ts';
import type { ElfSymbol, Relocation } from './elf.ts';
import { SHN_UNDEF } from './elf-constants.ts';
import type { Patch } from './patch.ts';
import { unfit } from './static-node-error.ts';

/** An object of a library that the binary has a copy of (R_X86_64_COPY). */
export interface Copy {
  readonly address: number;
  readonly size: number;
  /** All names of it, the relocation's first. */
  readonly names: readonly string[];
}

/** What becomes of the copies. */
export interface Copies {
  /** The binary's place is the definition: by address. */
  readonly definitions: ReadonlyMap<number, Copy>;
  /** What the definitions hold before anything has run, by address. */
  readonly contents: ReadonlyMap<number, Patch>;
  /**
   * The object files that the definitions are from. A static program would link them for their sake, and glibc
   * counts on it: the one with `stdin` brings what the other stdio functions only refer to weakly.
   */
  readonly members: ReadonlySet<Member>;
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
  const definitions = new Map<number, Copy>();
  const contents = new Map<number, Patch>();
  const constants: Copy[] = [];
  const members = new Set<Member>();
  for (const { relocation, symbol } of relocations) {
    const address = relocation.offset;
    const { name, size } = symbol;
    const object = findObject(name, archives);
    if (object.symbol.size !== size) {
      throw unfit(
        `${name} has ${size} bytes in the binary, and ${object.symbol.size} in ${object.where}`,
      );
    }
    const own = symbols.filter(({ value, shndx }) => value === address && shndx !== SHN_UNDEF);
    const names = new Set([name, ...own.map((alias) => alias.name), ...aliasesOf(object)]);
    const copy = { address, size, names: [...names] };
    if (isConstant(object)) {
      constants.push(copy);
      continue;
    }
    refuseLocalReferences(object);
    definitions.set(address, copy);
    members.add(object.member);
    for (const [offset, patch] of initialContent(object)) contents.set(address + offset, patch);
  }
  return { definitions, contents, constants, members };
}
