import type { Elf, Section } from './elf.ts';
import { DT_FINI, DT_INIT } from './elf-constants.ts';
import { unfit } from './static-node-error.ts';

/** What runs before `main` and after it: `DT_INIT`, then `.init_array`; `.fini_array` from its end, then `DT_FINI`. */
export interface Lifecycle {
  readonly init: number | undefined;
  readonly initArray: Section | undefined;
  readonly fini: number | undefined;
  readonly finiArray: Section | undefined;
}

/** @throws StaticNodeError EUNFIT where there is no dynamic section to read it from */
export function lifecycle(binary: Elf): Lifecycle {
  const dynamic = binary.section('.dynamic');
  if (dynamic === undefined) throw unfit('the binary has no .dynamic');
  const content = binary.content(dynamic);
  const entry = (tag: number): number | undefined => {
    for (let at = 0; at + 16 <= content.length; at += 16) {
      if (content.readBigUInt64LE(at) === BigInt(tag)) {
        return Number(content.readBigUInt64LE(at + 8));
      }
    }
    return undefined;
  };
  return {
    init: entry(DT_INIT),
    initArray: binary.section('.init_array'),
    fini: entry(DT_FINI),
    finiArray: binary.section('.fini_array'),
  };
}

/** The function that stands for itself, then the array, as one array of addresses. */
export function functions(binary: Elf, single: number | undefined, array: Section | undefined) {
  const first = Buffer.alloc(single === undefined ? 0 : 8);
  if (single !== undefined) first.writeBigUInt64LE(BigInt(single));
  return Buffer.concat([first, array ? binary.content(array) : Buffer.alloc(0)]);
}
