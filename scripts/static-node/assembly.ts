import type { Section } from './elf.ts';
import { SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS } from './elf-constants.ts';
import type { Gap } from './gaps.ts';
import type { Patch, Plan } from './plan.ts';

/** A section of the assembly, which the linker script puts at an address. */
export interface Piece {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly isFilled: boolean;
  readonly flags: number;
  readonly section: Section;
}

/** Names of the sections that the linker script places among the libraries' own. */
export const placed = {
  tls: '.binary_tls',
  initArray: '.binary_init_array',
  finiArray: '.binary_fini_array',
  constants: '.binary_constants',
  unwindTable: '.binary_eh_frame_hdr',
} as const;

/** The binary's sections as pieces, without the gaps, and with the zeros at the end of `.bss` left to the loader. */
export function pieces(plan: Plan, gaps: readonly Gap[]): Piece[] {
  const all: Piece[] = [];
  for (const section of plan.kept) {
    const end = section.addr + section.size;
    const isBss = section.type === SHT_NOBITS;
    let at = section.addr;
    const add = (until: number, isFilled: boolean) => {
      if (until <= at) return;
      const name = `.binary${section.name.replace(/^\.?/, '.')}.${at.toString(16)}`;
      all.push({ name, start: at, end: until, isFilled, flags: section.flags, section });
      at = until;
    };
    if (isBss) {
      add(lastContent(plan, section), true);
      add(end, false);
      continue;
    }
    for (const gap of gaps) {
      if (gap.start < section.addr || gap.end > end) continue;
      add(gap.start, true);
      add(gap.end, false);
    }
    add(end, true);
  }
  return all;
}

/** Copies with content lie at the start of `.bss`: up to here it has to be in the file. */
function lastContent({ patches, copies }: Plan, { addr, size }: Section): number {
  const ends = [
    ...Array.from(patches.keys(), (address) => address + 8),
    ...copies.constants.map((copy) => copy.address + copy.size),
  ].filter((end) => end > addr && end <= addr + size + 8);
  return Math.min(Math.max(addr, ...ends), addr + size);
}

/** Writes the assembly (GNU as) of the whole binary: its bytes by `.incbin`, with the patched places in between. */
export function assembly(
  plan: Plan,
  file: string,
  all: readonly Piece[],
  unwindTableSize: number,
): string {
  const writer = new Writer(plan, file);
  for (const name of plan.weak) writer.line(`.weak ${name}`);
  writer.line(`.globl main\n.set main, ${plan.main}`);
  for (const piece of all) writer.piece(piece);
  writer.tls();
  writer.array(placed.initArray, plan.initArray);
  writer.array(placed.finiArray, plan.finiArray);
  writer.line(`.section ${placed.constants},"a",@progbits\n.balign 8`);
  for (const { name } of plan.copies.constants) writer.line(`.quad ${name}`);
  writer.line(`.section ${placed.unwindTable},"a",@progbits\n.balign 8\n.zero ${unwindTableSize}`);
  if (plan.imports.has('__tls_get_addr')) writer.tlsGetAddr();
  writer.strings();
  writer.line('.section .note.GNU-stack,"",@progbits');
  return writer.text;
}

class Writer {
  text = '';
  readonly #plan: Plan;
  readonly #file: string;
  readonly #addresses: readonly number[];
  readonly #resolvers: ReadonlySet<number>;
  readonly #strings: Buffer[] = [];

  constructor(plan: Plan, file: string) {
    this.#plan = plan;
    this.#file = file;
    const resolvers = Array.from(plan.patches.values(), (patch) =>
      patch.kind === 'ifunc' ? [patch.resolver] : [],
    ).flat();
    this.#resolvers = new Set(resolvers);
    const all = new Set([...plan.patches.keys(), ...plan.copies.definitions.keys(), ...resolvers]);
    this.#addresses = [...all].sort((a, b) => a - b);
  }

  line(text: string): void {
    this.text += `${text}\n`;
  }

  piece({ name, start, end, isFilled, flags, section }: Piece): void {
    const letters = `a${flags & SHF_WRITE ? 'w' : ''}${flags & SHF_EXECINSTR ? 'x' : ''}`;
    this.line(`.section ${name},"${letters}",${isFilled ? '@progbits' : '@nobits'}`);
    this.#range(section, start, end, isFilled && section.type !== SHT_NOBITS);
  }

  array(name: string, section: Section | undefined): void {
    this.line(`.section ${name},"aw",@progbits`);
    if (section) this.#range(section, section.addr, section.addr + section.size, true);
  }

  /** The whole block, also the part without initial content, so that nothing comes after it in the template. */
  tls(): void {
    const { size, align, initial } = this.#plan.tls;
    this.line(`.section ${placed.tls},"awT",@progbits\n.balign ${align}`);
    if (initial) this.#range(initial, initial.addr, initial.addr + initial.size, true);
    const rest = size - (initial?.size ?? 0);
    if (rest > 0) this.line(`.zero ${rest}`);
  }

  /** `__tls_get_addr` of the x86-64 psABI, for the only module that there is. */
  tlsGetAddr(): void {
    this.line(`.text
.globl __tls_get_addr
.type __tls_get_addr, @function
__tls_get_addr:
  movq %fs:0, %rax
  subq $${this.#plan.tls.size}, %rax
  addq 8(%rdi), %rax
  ret`);
  }

  strings(): void {
    this.line('.section .rodata,"a",@progbits');
    for (const [index, text] of this.#strings.entries()) {
      this.line(`.Lstring${index}: .byte ${[...text, 0].join(',')}`);
    }
  }

  #range(section: Section, start: number, end: number, isInFile: boolean): void {
    let at = start;
    const bytesUntil = (until: number) => {
      if (until <= at) return;
      if (isInFile) {
        this.line(`.incbin "${this.#file}",${section.offset + at - section.addr},${until - at}`);
      } else {
        this.line(`.zero ${until - at}`);
      }
      at = until;
    };
    for (const address of this.#addresses) {
      if (address < start || address >= end) continue;
      bytesUntil(address);
      this.#labels(address);
      const patch = this.#plan.patches.get(address);
      if (patch) at += this.#patch(patch);
    }
    bytesUntil(end);
  }

  #labels(address: number): void {
    const definition = this.#plan.copies.definitions.get(address);
    for (const name of definition?.names ?? []) {
      this.line(
        `.globl ${name}\n.type ${name}, @object\n.size ${name}, ${definition?.size}\n${name}:`,
      );
    }
    if (this.#resolvers.has(address)) {
      const name = `resolver_${address.toString(16)}`;
      this.line(`.type ${name}, @gnu_indirect_function\n${name}:`);
    }
  }

  /** @returns the number of bytes written */
  #patch(patch: Patch): number {
    switch (patch.kind) {
      case 'value':
        this.line(`.quad ${patch.value}`);
        return 8;
      case 'symbol':
        this.line(`.quad ${patch.name}+${patch.addend}`);
        return 8;
      case 'tpoff':
        this.line(`.quad ${patch.name}@tpoff+${patch.addend}`);
        return 8;
      case 'ifunc':
        this.line(`.quad resolver_${patch.resolver.toString(16)}`);
        return 8;
      case 'string':
        this.line(`.quad .Lstring${this.#strings.push(patch.text) - 1}`);
        return 8;
      case 'bytes':
        this.line(`.byte ${[...patch.bytes].join(',')}`);
        return patch.bytes.length;
    }
  }
}
