import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';
import { type Archive, openArchives } from './archive.ts';
import { StaticNodeError } from './static-node-error.ts';

/** The compiler driver, and what is linked with it. */
export interface Toolchain {
  /** First line of `g++ --version` and of `ld --version`. */
  readonly version: string;
  /** In the order of the link. */
  readonly archives: readonly Archive[];
  readonly startFiles: StartFiles;
  /** The default linker script for a static program (`ld -static --verbose`). */
  readonly linkerScript: string;
}

/** Paths of the object files before and after all others (crt1.o, crtend.o and the like). */
export interface StartFiles {
  readonly first: readonly string[];
  readonly last: readonly string[];
}

/** The libraries that an official Node.js binary imports from; `c` and `gcc` need one another. */
const libraries = ['stdc++', 'm', 'pthread', 'dl', 'atomic', 'gcc', 'gcc_eh', 'c'];

/**
 * What `g++ -static` would take, but for crtbegin.o in place of crtbeginT.o: the latter registers the libraries'
 * `.eh_frame` at every start, for an unwinder that does not find PT_GNU_EH_FRAME, and has it sorted at the first
 * exception. Here one table that is sorted already holds everything.
 */
const startFiles = { first: ['crt1.o', 'crti.o', 'crtbegin.o'], last: ['crtend.o', 'crtn.o'] };

/** @throws StaticNodeError ETOOL with the Debian package of what is missing */
export async function findToolchain(): Promise<Toolchain> {
  const version = await output('g++', ['--version'], 'g++');
  const [linker, verbose, major] = await Promise.all([
    output('ld', ['--version'], 'binutils'),
    output('ld', ['-static', '--verbose'], 'binutils'),
    output('g++', ['-dumpversion'], 'g++'),
  ]);
  const find = (name: string) => fileOf(name, major.trim().split('.')[0] ?? '');
  const [paths, first, last] = await Promise.all([
    Promise.all(libraries.map((library) => find(`lib${library}.a`))),
    Promise.all(startFiles.first.map(find)),
    Promise.all(startFiles.last.map(find)),
  ]);
  const [, linkerScript] = verbose.split(/^={20,}$/m);
  if (linkerScript === undefined) {
    throw new StaticNodeError(
      'ETOOL',
      'ld -static --verbose prints no linker script; GNU ld is needed (apt-get install binutils)',
    );
  }
  return {
    version: `${firstLine(version)}; ${firstLine(linker)}`,
    archives: paths.flatMap((path) => openArchives(path)),
    startFiles: { first, last },
    linkerScript,
  };
}

/** Everything in the toolchain that the result depends on, as contents. */
export function contentsOf({ version, archives, startFiles, linkerScript }: Toolchain) {
  return [
    version,
    linkerScript,
    ...archives.map(({ bytes }) => bytes),
    ...[...startFiles.first, ...startFiles.last].map((path) => readFileSync(path)),
  ];
}

/** The path that the compiler driver links for a name; it prints the bare name where it has none. */
async function fileOf(name: string, major: string): Promise<string> {
  const path = (await output('g++', [`-print-file-name=${name}`], 'g++')).trim();
  if (isAbsolute(path)) return path;
  const holder = /^(lib(c|m|pthread|dl)\.a|crt[1in]\.o)$/.test(name)
    ? 'libc6-dev'
    : name === 'libstdc++.a'
      ? `libstdc++-${major}-dev`
      : `libgcc-${major}-dev`;
  const kind = name.endsWith('.a') ? 'static archive' : 'start file';
  throw new StaticNodeError('ETOOL', `no ${kind} ${name} (apt-get install ${holder})`);
}

async function output(
  command: string,
  argv: readonly string[],
  debianPackage: string,
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, argv, {
      env: { ...process.env, LC_ALL: 'C' },
    });
    return stdout;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code !== 'ENOENT') {
      throw new StaticNodeError('ETOOL', `${command} ${argv.join(' ')}: ${cause.message.trim()}`, {
        cause,
      });
    }
    throw new StaticNodeError('ETOOL', `no ${command} (apt-get install ${debianPackage})`, {
      cause,
    });
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
