import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Elf } from '../../scripts/static-node/elf.ts';
import {
  checkStatic,
  findToolchain,
  relink,
  type Toolchain,
} from '../../scripts/static-node/index.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const source = '#include <cstdio>\nint main() { std::puts("hello"); }\n';

function compile(t: Test, options: readonly string[], text = source): string {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'program.cpp'), text);
  execFileSync('g++', ['-o', 'program', 'program.cpp', ...options], { cwd: directory });
  return join(directory, 'program');
}

/** Changes a file's bytes at an offset. */
function change(path: string, edit: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  edit(bytes);
  writeFileSync(path, bytes);
}

t.test(
  'a binary that the method does not fit is refused',
  { skip: skipUnless('g++') },
  async (t) => {
    const toolchain = await findToolchain();
    const refused = async (t: Test, program: string, message: RegExp, other?: Toolchain) => {
      const output = `${program}.static`;
      await t.rejects(relink(program, output, { toolchain: other ?? toolchain }), {
        name: 'StaticNodeError',
        message,
      });
      t.notOk(existsSync(output), 'nothing is written');
      const left = readdirSync(join(program, '..')).filter((name) => name.startsWith('.relink'));
      t.strictSame(left, [], 'nothing is left behind');
    };

    t.test('position-independent', async (t) => {
      await refused(t, compile(t, ['-pie', '-fPIE']), /of type 3, not ET_EXEC \(2\)/);
    });

    t.test('of another architecture', async (t) => {
      const program = compile(t, ['-no-pie']);
      change(program, (bytes) => bytes.writeUInt16LE(183, 18));
      await refused(t, program, /of machine 183, not of x86-64/);
    });

    t.test('with a relocation that is not known', async (t) => {
      const program = compile(t, ['-no-pie']);
      const table = new Elf(readFileSync(program), program).section('.rela.plt');
      if (table === undefined) throw new Error('no .rela.plt');
      change(program, (bytes) => bytes.writeUInt32LE(36, table.offset + 8));
      await refused(t, program, /\.rela\.plt has a relocation of type 36 \(puts\) at 0x[0-9a-f]+/);
    });

    t.test('that imports what no archive defines', async (t) => {
      const directory = temporaryDirectory(t);
      writeFileSync(join(directory, 'lib.cpp'), 'extern "C" int only_shared() { return 1; }\n');
      execFileSync('g++', ['-shared', '-fPIC', '-o', 'libonly.so', 'lib.cpp'], { cwd: directory });
      const text = 'extern "C" int only_shared();\nint main() { return only_shared(); }\n';
      const program = compile(
        t,
        ['-no-pie', `-L${directory}`, '-lonly', `-Wl,-rpath,${directory}`],
        text,
      );
      await refused(t, program, /imports what no static archive defines: only_shared/);
    });

    t.test('that shares an object with a library other than by a copy', async (t) => {
      const text = `extern "C" { int program_invocation_name = 3; }\nint main() { return program_invocation_name; }
      extern "C" void error(int, int, const char *, ...);
      void (*volatile use)(int, int, const char *, ...) = error;\n`;
      const program = compile(t, ['-no-pie', '-rdynamic'], text);
      await refused(
        t,
        program,
        /defined by the binary and by the libraries: .*program_invocation_name/,
      );
    });

    t.test('that replaces a function which the libraries call too', async (t) => {
      const allocate = `#include <cstdlib>\n#include <string>\n
      void *operator new(std::size_t size) { return std::malloc(size + 16); }
      int main(int c, char **v) { return std::string(c * 100, 'x').size() == 1; }\n`;
      await refused(
        t,
        compile(t, ['-no-pie', '-rdynamic'], allocate),
        /would replace for them too: _Znwm/,
      );
      const exit = `#include <cstdlib>\n#include <unistd.h>\n
      extern "C" int atoi(const char *) noexcept { return 7; }
      int main() { return getopt(0, nullptr, "") + atoi("1") + std::system("true"); }\n`;
      const program = compile(t, ['-no-pie', '-rdynamic', '-fno-builtin'], exit);
      await t.resolves(relink(program, `${program}.static`, { toolchain }), 'not called by them');
    });

    t.test('whose addresses are where the libraries go', async (t) => {
      await refused(
        t,
        compile(t, ['-no-pie', '-Wl,-Ttext-segment=0x10000']),
        /starts at 0x1[0-9a-f]{4}, where the libraries would go/,
      );
      await refused(t, compile(t, ['-no-pie', '-Wl,-Ttext-segment=0x140000']), /overlap/);
    });

    t.test('stripped, static already, cut short, or no program at all', async (t) => {
      await refused(
        t,
        compile(t, ['-no-pie', '-s']),
        /stripped: its \.symtab is needed to find main/,
      );
      await refused(t, compile(t, ['-static']), /has no \.dynsym: it is static already/);
      const program = compile(t, ['-no-pie']);
      writeFileSync(program, readFileSync(program).subarray(0, 4000));
      await refused(t, program, /is cut short/);
      writeFileSync(program, '#!/bin/sh\n'.padEnd(100));
      await refused(t, program, /is not an ELF file/);
    });

    t.test('that is not there, or is a directory', async (t) => {
      const program = join(temporaryDirectory(t), 'nothing');
      await refused(t, program, /cannot read the binary: ENOENT.*nothing/);
      mkdirSync(program);
      await refused(t, program, /cannot read the binary: EISDIR/);
    });

    t.test('with a linker whose default script is another', async (t) => {
      const program = compile(t, ['-no-pie']);
      const linkerScript = toolchain.linkerScript.replaceAll('DATA_SEGMENT_END', 'SOMETHING_ELSE');
      await refused(t, program, /has no place for the binary/, { ...toolchain, linkerScript });
    });
  },
);

t.test(
  'what is missing is named with its Debian package',
  { skip: skipUnless('g++') },
  async (t) => {
    const original = process.env['PATH'];
    const directory = temporaryDirectory(t);
    t.teardown(() => {
      process.env['PATH'] = original;
    });
    process.env['PATH'] = directory;
    await t.rejects(findToolchain(), { code: 'ETOOL', message: 'no g++ (apt-get install g++)' });
    const tools = join(directory, 'bin');
    mkdirSync(tools);
    const real = (name: string) =>
      execFileSync('/bin/sh', ['-c', `PATH='${original}' command -v ${name}`], {
        encoding: 'utf8',
      }).trim();
    symlinkSync(real('g++'), join(tools, 'g++'));
    process.env['PATH'] = tools;
    await t.rejects(findToolchain(), {
      code: 'ETOOL',
      message: 'no ld (apt-get install binutils)',
    });
    process.env['PATH'] = original;
    for (const [archive, holder] of [
      ['libstdc++.a', /^no static archive libstdc\+\+\.a \(apt-get install libstdc\+\+-\d+-dev\)$/],
      ['libc.a', /^no static archive libc\.a \(apt-get install libc6-dev\)$/],
      ['libgcc_eh.a', /^no static archive libgcc_eh\.a \(apt-get install libgcc-\d+-dev\)$/],
    ] as const) {
      const wrapper = join(directory, archive);
      mkdirSync(wrapper);
      writeFileSync(
        join(wrapper, 'g++'),
        `#!/bin/sh\nif [ "$1" = -print-file-name=${archive} ]; then echo ${archive}; else exec ${real('g++')} "$@"; fi\n`,
        { mode: 0o755 },
      );
      process.env['PATH'] = `${wrapper}:${original}`;
      await t.rejects(findToolchain(), { code: 'ETOOL', message: holder });
    }
  },
);

t.test('the check finds what is not static', { skip: skipUnless('g++') }, async (t) => {
  t.throws(() => checkStatic(compile(t, ['-no-pie'])), {
    code: 'ECHECK',
    message: /an interpreter/,
  });
  t.throws(() => checkStatic(compile(t, ['-static-pie', '-fPIE'])), {
    code: 'ECHECK',
    message: /a dynamic section/,
  });
  t.throws(() => checkStatic(compile(t, ['-static', '-z', 'execstack'])), {
    code: 'ECHECK',
    message: /an executable stack/,
  });
  const program = compile(t, ['-static']);
  t.doesNotThrow(() => checkStatic(program));
  change(program, (bytes) => bytes.writeUInt32LE(7, 64 + 4));
  t.throws(() => checkStatic(program), { code: 'ECHECK', message: /writable and executable/ });
});
