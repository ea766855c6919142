import type { Elf, Section } from './elf.ts';
import { PT_TLS, SHF_TLS } from './elf-constants.ts';
import { unfit } from './static-node-error.ts';

/**
 * The binary's thread-local storage. Offsets into it are baked into its code and are counted back from the thread
 * pointer, so `size` is rounded up to `align`.
 */
export interface TlsBlock {
  readonly size: number;
  readonly align: number;
  /** `.tdata`: what the block begins with; the rest is zeros. */
  readonly initial: Section | undefined;
}

/** @throws StaticNodeError EUNFIT where the block is laid out in another way than GNU ld does it */
export function tlsBlock(binary: Elf): TlsBlock {
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
  if (segment.vaddr % align !== 0) {
    throw unfit(
      `the TLS image at 0x${segment.vaddr.toString(16)} is not aligned to its ${align} bytes`,
    );
  }
  return { size: Math.ceil(segment.memsz / align) * align, align, initial };
}
