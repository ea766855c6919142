import type { Elf } from './elf.ts';
import { PT_GNU_RELRO } from './elf-constants.ts';
import { page } from './page.ts';
import type { Plan } from './plan.ts';

/** Addresses, page-aligned, that nothing writes to once the program is linked. */
export interface ProtectedRange {
  readonly start: number;
  readonly end: number;
}

/**
 * What the dynamic loader makes read-only after it has written there (PT_GNU_RELRO): virtual tables, pointers to
 * functions. Here the linker writes it, so it need not be writable at all, but for what the libraries write to
 * at start-up (`__libc_stack_end`).
 */
export function protectedRange(binary: Elf, { definitions }: Plan['copies']): ProtectedRange {
  const relro = binary.segments.find(({ type }) => type === PT_GNU_RELRO);
  if (relro === undefined) return { start: 0, end: 0 };
  const end = relro.vaddr + relro.memsz;
  const written = Array.from(definitions.values(), ({ address, size }) => address + size);
  const last = Math.max(relro.vaddr, ...written.filter((each) => each <= end));
  return {
    start: Math.ceil(last / page) * page,
    end: Math.floor(end / page) * page,
  };
}
