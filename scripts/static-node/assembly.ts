import type { Section } from './elf.ts';
import { SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS } from './elf-constants.ts';
import { functions } from './lifecycle.ts';
import { type Patch, tlsGetAddr } from './patch.ts';
import type { Piece } from './pieces.ts';
import type { Plan } from './plan.ts';
import { startUp } from './start-up.ts';

/** Names of the sections that the linker script places among the libraries' own. */
export const placed = {
  tls: '.binary_tls',
  initArray: '.binary_init_array',
  finiArray: '.binary_fini_array',
  constants: '.binary_constants',
  unwindTable: '.binary_eh_frame_hdr',
  startUpWord: '.start_up_word',
  startUpAdvice: '.start_up_advice',
} as const;

/**
 * Writes the assembly (GNU as) of the whole binary: its bytes by `.incbin`, with the patched places in between.
 *
 * @param file the binary, as the assembler opens it
 * @param unwindTable bytes to leave for the unwinder's table
 */
export function assembly(
  plan: Plan,
  file: string,
  pieces: readonly Piece[],
  unwindTable: number,
): string {
  const { binary, lifecycle, copies } = plan;
  const writer = new Writer(plan, file);
  for (const name of plan.imports.weak) writer.line(`.weak ${name}`);
  writer.line(`.globl main\n.set main, ${plan.main}`);
  for (const piece of pieces) writer.piece(piece);
  writer.tls();
  writer.array(placed.initArray, functions(binary, lifecycle.init, lifecycle.initArray));
  writer.array(placed.finiArray, functions(binary, lifecycle.fini, lifecycle.finiArray));
  writer.line(`.section ${placed.constants},"a",@progbits\n.balign 8`);
  for (const { names } of copies.constants) writer.line(`.quad ${names[0]}`);
  writer.line(`.section ${placed.unwindTable},"a",@progbits\n.balign 8\n.zero ${unwindTable}`);
  writer.line(startUp({ word: placed.startUpWord, table: placed.startUpAdvice }));
  writer.tlsGetAddr();
  writer.strings();
  writer.line('.section .note.GNU-stack,"",@progbits');
  return writer.text;
}

class Writer {
  text = '';
  readonly #plan: Plan;
  readonly #file: string;
  /** Where something is written that is not just the binary's bytes, in order. */
  readonly #addresses: readonly number[];
  readonly #resolvers: ReadonlySet<number>;
  readonly #strings: Buffer[] = [];

  constructor(plan: Plan, file: string) {
    this.#plan = plan;
    this.#file = file;
    const { patches, copies } = plan;
    this.#resolvers = new Set(
      Array.from(patches.values(), (each) => (each.kind === 'ifunc' ? [each.resolver] : [])).flat(),
    );
    const all = new Set([...patches.keys(), ...copies.definitions.keys(), ...this.#resolvers]);
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

  array(name: string, content: Buffer): void {
    this.line(`.section ${name},"aw",@progbits`);
    for (let at = 0; at < content.length; at += 8) {
      this.line(`.quad ${content.readBigUInt64LE(at)}`);
    }
  }

  /** The whole block, also the part without initial content, so that nothing comes after it in the template. */
  tls(): void {
    const { size, align, initial } = this.#plan.tls;
    this.line(`.section ${placed.tls},"awT",@progbits\n.balign ${align}`);
    if (initial) this.#range(initial, initial.addr, initial.addr + initial.size, true);
    const rest = size - (initial?.size ?? 0);
    if (rest > 0) this.line(`.zero ${rest}`);
  }

  /** `__tls_get_addr` of the x86-64 psABI for the binary: its block is the last, and ends at the thread pointer. */
  tlsGetAddr(): void {
    this.line(`.text
.globl ${tlsGetAddr}
.type ${tlsGetAddr}, @function
${tlsGetAddr}:
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
      this.line(`.globl ${name}\n.type ${name}, @object\n.size ${name}, ${definition?.size}`);
      this.line(`${name}:`);
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
