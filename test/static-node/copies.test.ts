import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openArchives } from '../../scripts/static-node/archive.ts';
import { Elf } from '../../scripts/static-node/elf.ts';
import { R_X86_64_COPY } from '../../scripts/static-node/elf-constants.ts';
import { findToolchain, relink, type Toolchain } from '../../scripts/static-node/index.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A program that uses a library, which is there shared and as a static archive. */
interface Built {
  readonly program: string;
  readonly toolchain: Toolchain;
}

async function build(
  t: Test,
  main: string,
  library: string,
  archived = library,
  more: readonly string[] = [],
): Promise<Built> {
  const cwd = temporaryDirectory(t);
  const run = (command: string, argv: readonly string[]) => execFileSync(command, argv, { cwd });
  for (const [name, text] of Object.entries({ main, library, archived })) {
    writeFileSync(join(cwd, `${name}.cpp`), text);
  }
  run('g++', ['-shared', '-fPIC', '-O2', '-o', 'libthing.so', 'library.cpp']);
  run('g++', ['-c', '-O2', '-fno-pie', '-o', 'thing.o', 'archived.cpp']);
  for (const [index, text] of more.entries()) {
    writeFileSync(join(cwd, `more${index}.cpp`), text);
    run('g++', ['-c', '-O2', '-fno-pie', '-o', `more${index}.o`, `more${index}.cpp`]);
  }
  run('ar', ['rcs', 'libthing.a', 'thing.o', ...more.map((_, index) => `more${index}.o`)]);
  run('g++', ['-no-pie', '-fno-pie', '-O2', '-o', 'program', 'main.cpp', 'libthing.so']);
  const toolchain = await findToolchain();
  const archives = [...openArchives(join(cwd, 'libthing.a')), ...toolchain.archives];
  return { program: join(cwd, 'program'), toolchain: { ...toolchain, archives } };
}

function copied(program: string): string[] {
  const elf = new Elf(readFileSync(program), program);
  const [table, dynsym] = [elf.section('.rela.dyn'), elf.section('.dynsym')];
  if (!table || !dynsym) throw new Error('no relocations');
  const symbols = elf.symbols(dynsym);
  return elf
    .relocations(table)
    .filter(({ type }) => type === R_X86_64_COPY)
    .map(({ symbol }) => symbols[symbol]?.name ?? '');
}

async function same(t: Test, { program, toolchain }: Built, copies: readonly string[]) {
  t.strictSame(copied(program).sort(), [...copies].sort(), 'the binary has copies of');
  const output = `${program}.static`;
  await relink(program, output, { toolchain });
  const run = (path: string) =>
    spawnSync(path, {
      encoding: 'utf8',
      env: { LD_LIBRARY_PATH: join(program, '..') },
    });
  const expected = run(program);
  t.equal(expected.status, 0, expected.stderr);
  t.match(run(output), { status: 0, stdout: expected.stdout, stderr: '' });
}

const options = { skip: skipUnless('g++') };

t.test('what is written to is one object for both sides', options, async (t) => {
  const library = `
    int counter = 5, zero; long wide[3] = {1, 0, 3};
    int other = 1; int *pointer = &other; const char *word = "word";
    int bump() { ++zero; ++other; wide[1]++; word = "changed"; return ++counter; }`;
  const main = `
    #include <cstdio>
    extern int counter, zero, other, *pointer; extern long wide[3]; extern const char *word;
    int bump();
    int main() {
      std::printf("%d %d %ld %ld %d %s\\n", counter, zero, wide[0], wide[2], *pointer, word);
      counter = 10;
      std::printf("%d %d %ld %d %s\\n", bump(), zero, wide[1], *pointer, word);
      *pointer = 7;
      std::printf("%d %d\\n", other, pointer == &other);
    }`;
  const copies = ['counter', 'zero', 'wide', 'other', 'pointer', 'word'];
  await same(t, await build(t, main, library), copies);
});

t.test('an alias is the same object', options, async (t) => {
  const library = `
    int counter = 5; extern int alias __attribute__((weak, alias("counter")));
    int seen();
    int bump() { counter++; return seen(); }`;
  const other = 'extern int alias; int seen() { return alias; }';
  const main = `
    #include <cstdio>
    extern int counter; int bump();
    int main() { counter = 41; std::printf("%d\\n", bump()); }`;
  const shared = `${library}\n${other.replace('extern int alias; ', '')}`;
  await same(t, await build(t, main, shared, library, [other]), ['counter']);
});

t.test('what is constant may be there twice', options, async (t) => {
  const library = `
    extern const int limit; const int limit = 40;
    static const char one[] = "one"; extern const char *const names[]; const char *const names[] = {one, "two"};
    struct Shape { virtual int sides() const; virtual ~Shape(); };
    int Shape::sides() const { return limit; } Shape::~Shape() {}
    Shape *make() { return new Shape; }`;
  const main = `
    #include <cstdio>
    #include <typeinfo>
    extern const int limit; extern const char *const names[2];
    struct Shape { virtual int sides() const; virtual ~Shape(); };
    struct Square : Shape { int sides() const override { return 4; } };
    Shape *make();
    int main() {
      Shape shape; Square square; Shape *made = make(), *mine = &square;
      std::printf("%d %s %s\\n", limit, names[0], names[1]);
      std::printf("%d %d %d\\n", shape.sides(), made->sides(), mine->sides());
      std::printf("%d %d\\n", typeid(*made) == typeid(Shape), dynamic_cast<Square *>(made) == nullptr);
      delete made;
    }`;
  const copies = [
    'limit',
    'names',
    '_ZTI5Shape',
    '_ZTV5Shape',
    '_ZTVN10__cxxabiv120__si_class_type_infoE',
  ];
  await same(t, await build(t, main, library), copies);
});

t.test('what cannot be one object is refused', options, async (t) => {
  const main = `
    #include <cstdio>
    extern int counter; int bump();
    int main() { counter = 41; std::printf("%d\\n", bump()); }`;
  const library = 'int counter = 5; int bump() { return ++counter; }';
  const refused = async (t: Test, archived: string, message: RegExp, text = library) => {
    const { program, toolchain } = await build(t, main, text, archived);
    const output = `${program}.static`;
    await t.rejects(relink(program, output, { toolchain }), { code: 'EUNFIT', message });
  };
  t.test('it is used by another way than its name', (t) =>
    refused(
      t,
      `static int hidden = 5; extern int counter __attribute__((alias("_ZL6hidden")));
      int bump() { return ++hidden; }`,
      /libthing\.a\(thing\.o\) uses its counter by another way than the name/,
    ),
  );
  t.test('it has another size', (t) =>
    refused(
      t,
      'long counter = 5; int bump() { return ++counter; }',
      /counter has 4 bytes in the binary, and 8 in .*libthing\.a\(thing\.o\)/,
    ),
  );
  t.test('no archive has it', (t) =>
    refused(
      t,
      'int bump() { return 1; }',
      /imports what no static archive defines: counter \(R_X86_64_COPY\)/,
    ),
  );
});
