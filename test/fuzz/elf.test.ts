import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { Archive } from '../../scripts/static-node/archive.ts';
import { Elf } from '../../scripts/static-node/elf.ts';
import { SHT_RELA, SHT_SYMTAB } from '../../scripts/static-node/elf-constants.ts';
import { StaticNodeError } from '../../scripts/static-node/static-node-error.ts';
import { answer, fuzz, plain } from '../support/fuzz.ts';
import { mutated } from '../support/mutations.ts';
import { archiveOf, elfOf } from './object-files.ts';

const name = fc.stringMatching(/^[a-zA-Z_.]{1,20}$/);
const symbol = fc.record(
  {
    name,
    bind: fc.nat(2),
    type: fc.nat(4),
    shndx: fc.nat(3),
    value: fc.nat(),
    size: fc.nat(),
  },
  plain,
);
const relocation = fc.record(
  {
    offset: fc.nat(),
    type: fc.nat(50),
    symbol: fc.nat(9),
    addend: fc.integer(),
  },
  plain,
);
const object = fc.record(
  {
    symbols: fc.array(symbol, { maxLength: 8 }),
    relocations: fc.array(relocation, { maxLength: 8 }),
  },
  plain,
);

/** Everything that is read of a file. */
function readAll(elf: Elf) {
  const tables = (wanted: number) => elf.sections.filter(({ type }) => type === wanted);
  return {
    symbols: tables(SHT_SYMTAB).flatMap((table) => elf.symbols(table)),
    relocations: tables(SHT_RELA).flatMap((table) => elf.relocations(table)),
  };
}

fuzz(t, 'ELF: what is written is read', object, (each) => {
  assert.deepEqual(readAll(new Elf(elfOf(each), 'object')), each);
});

fuzz(t, 'ELF: mutated', mutated(object.map(elfOf)), (bytes) => {
  answer(() => readAll(new Elf(bytes, 'object')), StaticNodeError);
});

const archive = fc.uniqueArray(fc.tuple(name, object), {
  minLength: 1,
  maxLength: 3,
  selector: ([each]) => each,
});

fuzz(t, 'archives: a symbol leads to its member', archive, (members) => {
  const read = new Archive('lib.a', archiveOf(members));
  for (const [each, { symbols }] of members) {
    assert.deepEqual(
      read.members(each).map(({ table }) => table),
      [symbols],
    );
    assert.equal(read.definer(`in_${each}`)?.name, each);
  }
  assert.ok(!read.defines('no such symbol'));
});

fuzz(t, 'archives: mutated', mutated(archive.map(archiveOf)), (bytes) => {
  const read = new Archive('lib.a', bytes);
  answer(() => read.definer('in_a'), StaticNodeError);
  answer(() => read.members('a'), StaticNodeError);
});

t.test('found so', async (t) => {
  const valid = archiveOf([['a', { symbols: [], relocations: [] }]]);
  const sizeAt = (text: string) => {
    const bytes = Buffer.from(valid);
    bytes.write(text.padEnd(10), 8 + 48, 'latin1');
    return () => new Archive('lib.a', bytes).defines('in_a');
  };
  const refused = { name: 'StaticNodeError', code: 'EUNFIT' };
  t.throws(sizeAt('-60'), refused, 'a member that leads back to itself: it was read for ever');
  t.throws(sizeAt('x'), refused, 'a size that is no number');
  t.throws(sizeAt('2'), refused, 'an index that is cut short');
  const many = elfOf({ symbols: [], relocations: [] });
  many.writeUInt16LE(0, 58);
  many.writeUInt16LE(0xffff, 60);
  t.throws(() => new Elf(many, 'object'), refused, 'one section header that counts 65,535 times');
});
