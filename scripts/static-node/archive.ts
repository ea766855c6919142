import { readFileSync } from 'node:fs';
import { Elf, type ElfSymbol } from './elf.ts';
import { SHN_UNDEF, SHT_SYMTAB, STB_LOCAL } from './elf-constants.ts';
import { unfit } from './static-node-error.ts';

/** An object file in a static archive (ar(5)). */
export interface Member {
  /** Path of its archive. */
  readonly archive: string;
  readonly name: string;
  readonly elf: Elf;
  /** All of its symbols, by their index. */
  readonly table: readonly ElfSymbol[];
  /** The global ones that it defines. */
  readonly symbols: readonly ElfSymbol[];
}

function isArchive(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 8) === '!<arch>\n';
}

/** The archives behind a library's file, which may be a linker script that names them (`GROUP`), as glibc's libm.a. */
export function openArchives(path: string): Archive[] {
  const bytes = readFileSync(path);
  if (isArchive(bytes)) return [new Archive(path, bytes)];
  const group = /GROUP\s*\(([^)]*)\)/.exec(bytes.toString('latin1', 0, 4096))?.[1];
  if (group === undefined) throw unfit(`${path} is neither a static archive nor a group of them`);
  const names = group.split(/\s+/).filter((name) => name.startsWith('/'));
  return names.flatMap((name) => openArchives(name));
}

/** A static archive, read as far as it is asked for. */
export class Archive {
  readonly path: string;
  readonly bytes: Buffer;
  readonly #members = new Map<number, Member>();
  #directory: Directory | undefined;
  #byName: Map<string, Member[]> | undefined;

  constructor(path: string, bytes: Buffer) {
    this.path = path;
    this.bytes = bytes;
  }

  /** Whether a member defines a global symbol, by the archive's own symbol index. */
  defines(symbol: string): boolean {
    return this.#read().index.has(symbol);
  }

  /** The member that defines a global symbol. */
  definer(symbol: string): Member | undefined {
    const offset = this.#read().index.get(symbol);
    return offset === undefined ? undefined : this.#member(offset);
  }

  /** Every member of that name; an archive may hold several. */
  members(name: string): readonly Member[] {
    if (this.#byName === undefined) {
      this.#byName = new Map();
      for (const offset of new Set(this.#read().index.values())) {
        const member = this.#member(offset);
        this.#byName.set(member.name, [...(this.#byName.get(member.name) ?? []), member]);
      }
    }
    return this.#byName.get(name) ?? [];
  }

  #read(): Directory {
    this.#directory ??= readDirectory(this.bytes, this.path);
    return this.#directory;
  }

  #member(offset: number): Member {
    const known = this.#members.get(offset);
    if (known) return known;
    const { name: field, start, size } = header(this.bytes, offset, this.path);
    const name = this.#name(field);
    const elf = new Elf(this.bytes.subarray(start, start + size), `${this.path}(${name})`);
    const symtab = elf.sections.find(({ type }) => type === SHT_SYMTAB);
    const table = symtab ? elf.symbols(symtab) : [];
    const symbols = table.filter(({ bind, shndx }) => bind !== STB_LOCAL && shndx !== SHN_UNDEF);
    const member = { archive: this.path, name, elf, table, symbols };
    this.#members.set(offset, member);
    return member;
  }

  #name(field: string): string {
    const long = /^\/(\d+)$/.exec(field);
    if (!long) return field.replace(/\/$/, '');
    const { longNames } = this.#read();
    const start = Number(long[1]);
    return longNames.toString('latin1', start, longNames.indexOf('/\n', start));
  }
}

/** What an archive begins with: its symbol index (name to the offset of a member), and the names too long for a header. */
interface Directory {
  readonly index: ReadonlyMap<string, number>;
  readonly longNames: Buffer;
}

function readDirectory(bytes: Buffer, path: string): Directory {
  let index = new Map<string, number>();
  let longNames = Buffer.alloc(0);
  for (let at = 8; at + 60 <= bytes.length; ) {
    const { name, start, size } = header(bytes, at, path);
    const content = bytes.subarray(start, start + size);
    if (name === '/') index = readIndex(content, path);
    else if (name === '//') longNames = Buffer.from(content);
    else break;
    at = start + size + (size % 2);
  }
  return { index, longNames };
}

/** Of several members that define a symbol the linker takes the first. */
function readIndex(content: Buffer, path: string): Map<string, number> {
  const index = new Map<string, number>();
  const count = content.length < 4 ? 0 : content.readUInt32BE(0);
  let name = 4 + 4 * count;
  if (content.length < name) throw unfit(`the symbol index of ${path} is cut short`);
  for (let each = 0; each < count; each += 1) {
    const end = content.indexOf(0, name);
    if (end < 0) throw unfit(`the symbol index of ${path} is cut short`);
    const symbol = content.toString('latin1', name, end);
    if (!index.has(symbol)) index.set(symbol, content.readUInt32BE(4 + 4 * each));
    name = end + 1;
  }
  return index;
}

/** The header of a member, whose content lies in the archive: then whoever goes from one to the next gets to the end. */
function header(
  bytes: Buffer,
  at: number,
  path: string,
): { readonly name: string; readonly start: number; readonly size: number } {
  const field = (from: number, to: number) =>
    bytes.toString('latin1', at + from, at + to).trimEnd();
  const start = at + 60;
  const size = Number(/^\d{1,10}$/.exec(field(48, 58))?.[0]);
  if (!(start + size <= bytes.length)) {
    throw unfit(`${path} is damaged: the member at ${at} has the size "${field(48, 58)}"`);
  }
  return { name: field(0, 16), start, size };
}
