import type { Elf } from './elf.ts';
import { page } from './page.ts';

/**
 * A range of addresses whose bytes are left out of the file and read as zeros. `start` and `end` are page-aligned;
 * `edges` are what lies before and after in the pages that stay, as address and length.
 */
export interface Gap {
  readonly start: number;
  readonly end: number;
  readonly edges: readonly (readonly [address: number, length: number])[];
}

/** What ICU names the locale data in it, by its major version. */
const localeData = /^icudt\d+_dat$/;

/**
 * What a binary holds that the program will not read: the search table of its unwinder, as one for the whole
 * program takes its place, and unless `intl` is set the locale data.
 */
export function findGaps(binary: Elf, intl: boolean): Gap[] {
  const gaps: Gap[] = [];
  const add = (address: number, size: number) => {
    const start = Math.ceil(address / page) * page;
    const end = Math.floor((address + size) / page) * page;
    if (end <= start) return;
    const edges = [
      [address, start - address],
      [end, address + size - end],
    ] as const;
    gaps.push({ start, end, edges: edges.filter(([, length]) => length > 0) });
  };
  const table = binary.section('.eh_frame_hdr');
  if (table) add(table.addr, table.size);
  const symtab = intl ? undefined : binary.section('.symtab');
  const locale = symtab && binary.symbols(symtab).find(({ name }) => localeData.test(name));
  if (locale) add(locale.value, locale.size);
  return gaps.sort((a, b) => a.start - b.start);
}
