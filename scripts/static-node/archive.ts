import { readFileSync } from 'node:fs';
import { Elf, type ElfSymbol } from './elf.ts';
import { SHN_UNDEF, SHT_SYMTAB, STB_LOCAL } from './elf-constants.ts';
import { unfit } from './static-node-error.ts';

/** An object file in a static archive (ar(5)), with the global symbols that it defines. */
export interface Member {
  readonly name: string;
  readonly elf: Elf;
  readonly symbols: readonly ElfSymbol[];
}

function isArchive(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 8) === '!<arch>\n';
}

/** The archives behind a library's file, which may be a linker script that names them (`GROUP`), as glibc's libm.a. */
export function openArchives(path: string): Archive[] {
  const bytes = readFileSync(path);
  if (isArchive(bytes)) return [new Archive(path)];
  const group = /GROUP\s*\(([^)]*)\)/.exec(bytes.toString('latin1', 0, 4096))?.[1];
  if (group === undefined) throw unfit(`${path} is neither a static archive nor a group of them`);
  const names = group.split(/\s+/).filter((name) => name.startsWith('/'));
  return names.map((name) => new Archive(name));
}

/** A static archive, read as far as it is asked for. */
export class Archive {
  readonly path: string;
  readonly #bytes: Buffer;
  readonly #index = new Map<string, number>();
  readonly #members = new Map<number, Member>();
  #longNames: Buffer = Buffer.alloc(0);
  #readAll = false;

  constructor(path: string) {
    this.path = path;
    this.#bytes = readFileSync(path);
    if (!isArchive(this.#bytes)) {
      throw unfit(`${path} is not a static archive`);
    }
    this.#readIndex();
  }

  /** The member that defines a global symbol, by the archive's own symbol index. */
  definer(symbol: string): Member | undefined {
    const offset = this.#index.get(symbol);
    return offset === undefined ? undefined : this.#member(offset);
  }

  /** Every member of that name; an archive may hold several. */
  members(name: string): Member[] {
    if (!this.#readAll) {
      for (const offset of new Set(this.#index.values())) this.#member(offset);
      this.#readAll = true;
    }
    return [...this.#members.values()].filter((member) => member.name === name);
  }

  #readIndex(): void {
    let at = 8;
    while (at + 60 <= this.#bytes.length) {
      const { name, start, size } = this.#header(at);
      if (name === '/') this.#readSymbols(this.#bytes.subarray(start, start + size));
      else if (name === '//') this.#longNames = this.#bytes.subarray(start, start + size);
      else break;
      at = start + size + (size % 2);
    }
  }

  #readSymbols(content: Buffer): void {
    const count = content.readUInt32BE(0);
    let name = 4 + 4 * count;
    for (let index = 0; index < count; index += 1) {
      const end = content.indexOf(0, name);
      this.#index.set(content.toString('latin1', name, end), content.readUInt32BE(4 + 4 * index));
      name = end + 1;
    }
  }

  #header(at: number): { name: string; start: number; size: number } {
    const field = (from: number, to: number) =>
      this.#bytes.toString('latin1', at + from, at + to).trimEnd();
    return { name: field(0, 16), start: at + 60, size: Number(field(48, 58)) };
  }

  #member(offset: number): Member {
    const known = this.#members.get(offset);
    if (known) return known;
    const { name, start, size } = this.#header(offset);
    const elf = new Elf(this.#bytes.subarray(start, start + size), `${this.path}(${name})`);
    const table = elf.sections.find(({ type }) => type === SHT_SYMTAB);
    const symbols = table ? elf.symbols(table) : [];
    const member = {
      name: this.#name(name),
      elf,
      symbols: symbols.filter(({ bind, shndx }) => bind !== STB_LOCAL && shndx !== SHN_UNDEF),
    };
    this.#members.set(offset, member);
    return member;
  }

  #name(field: string): string {
    const long = /^\/(\d+)$/.exec(field);
    if (!long) return field.replace(/\/$/, '');
    const start = Number(long[1]);
    return this.#longNames.toString('latin1', start, this.#longNames.indexOf('/\n', start));
  }
}
