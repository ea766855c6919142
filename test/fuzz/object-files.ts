import type { ElfSymbol, Relocation } from '../../scripts/static-node/elf.ts';
import { SHT_RELA, SHT_SYMTAB } from '../../scripts/static-node/elf-constants.ts';

export interface ObjectFile {
  readonly symbols: readonly ElfSymbol[];
  readonly relocations: readonly Relocation[];
}

const SHT_STRTAB = 3;

/** An object file of elf(5): a symbol table, its strings, a table of relocations. */
export function elfOf({ symbols, relocations }: ObjectFile): Buffer {
  const names = stringTable(symbols.map(({ name }) => name));
  const table = symbols.map(({ bind, type, shndx, value, size }, index) => {
    const entry = Buffer.alloc(24);
    entry.writeUInt32LE(names.offsets[index] ?? 0, 0);
    entry.writeUInt8((bind << 4) | type, 4);
    entry.writeUInt16LE(shndx, 6);
    entry.writeBigUInt64LE(BigInt(value), 8);
    entry.writeBigUInt64LE(BigInt(size), 16);
    return entry;
  });
  const relas = relocations.map(({ offset, type, symbol, addend }) => {
    const entry = Buffer.alloc(24);
    entry.writeBigUInt64LE(BigInt(offset), 0);
    entry.writeUInt32LE(type, 8);
    entry.writeUInt32LE(symbol, 12);
    entry.writeBigInt64LE(BigInt(addend), 16);
    return entry;
  });
  const titles = stringTable(['.symtab', '.strtab', '.rela.text', '.shstrtab']);
  const contents = [Buffer.concat(table), names.bytes, Buffer.concat(relas), titles.bytes];
  const types = [SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_STRTAB];
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 0, 'latin1');
  header.writeUInt16LE(1, 16);
  header.writeUInt16LE(62, 18);
  let offset = 64;
  const headers = contents.map((content, index) => {
    const section = Buffer.alloc(64);
    section.writeUInt32LE(titles.offsets[index] ?? 0, 0);
    section.writeUInt32LE(types[index] ?? 0, 4);
    section.writeBigUInt64LE(BigInt(offset), 24);
    section.writeBigUInt64LE(BigInt(content.length), 32);
    section.writeUInt32LE(index === 0 ? 2 : 1, 40);
    offset += content.length;
    return section;
  });
  header.writeBigUInt64LE(BigInt(offset), 40);
  header.writeUInt16LE(64, 58);
  header.writeUInt16LE(1 + headers.length, 60);
  header.writeUInt16LE(headers.length, 62);
  return Buffer.concat([header, ...contents, Buffer.alloc(64), ...headers]);
}

/** An archive of ar(5) whose index has one symbol for each member, `in_<name>`. */
export function archiveOf(members: readonly (readonly [string, ObjectFile])[]): Buffer {
  const longNames = stringTable(
    members.map(([name]) => `${name}/\n`),
    '',
  );
  const symbols = Buffer.from(members.map(([name]) => `in_${name}\0`).join(''));
  const index = Buffer.concat([Buffer.alloc(4 + 4 * members.length), symbols]);
  index.writeUInt32BE(members.length, 0);
  const titles = member('//', longNames.bytes);
  let at = 8 + member('/', index).length + titles.length;
  const files = members.map(([, object], each) => {
    index.writeUInt32BE(at, 4 + 4 * each);
    const file = member(`/${longNames.offsets[each]}`, elfOf(object));
    at += file.length;
    return file;
  });
  return Buffer.concat([Buffer.from('!<arch>\n'), member('/', index), titles, ...files]);
}

function member(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(60, ' ');
  header.write(name, 0);
  header.write(String(content.length), 48);
  header.write('`\n', 58);
  return Buffer.concat([header, content, Buffer.alloc(content.length % 2, '\n')]);
}

function stringTable(texts: readonly string[], end = '\0'): { bytes: Buffer; offsets: number[] } {
  let bytes = end;
  const offsets = texts.map((text) => {
    const offset = bytes.length;
    bytes += `${text}${end}`;
    return offset;
  });
  return { bytes: Buffer.from(bytes, 'latin1'), offsets };
}
