import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type Archive, openArchives } from './archive.ts';
import { StaticNodeError } from './static-node-error.ts';

/** The libraries that an official Node.js binary imports from, as static archives, in the order of the link. */
const libraries = ['stdc++', 'm', 'pthread', 'dl', 'atomic', 'gcc', 'gcc_eh', 'c'];

/** The compiler driver and the archives that it links with. */
export interface Toolchain {
  /** First line of `g++ --version` and of `ld --version`. */
  readonly version: string;
  readonly archives: readonly Archive[];
  /** The default linker script for a static program (`ld -static --verbose`). */
  readonly linkerScript: string;
}

/** @throws StaticNodeError ETOOL with the Debian package of what is missing */
export function findToolchain(): Toolchain {
  const compiler = output('g++', ['--version'], 'g++');
  const linker = output('ld', ['--version'], 'binutils');
  const major = output('g++', ['-dumpversion'], 'g++').trim().split('.')[0];
  const archives = libraries.flatMap((library) => {
    const name = `lib${library}.a`;
    const path = output('g++', [`-print-file-name=${name}`], 'g++').trim();
    if (isAbsolute(path) && existsSync(path)) return openArchives(path);
    const holder = ['c', 'm', 'pthread', 'dl'].includes(library)
      ? 'libc6-dev'
      : library === 'stdc++'
        ? `libstdc++-${major}-dev`
        : `libgcc-${major}-dev`;
    throw new StaticNodeError('ETOOL', `no static archive ${name} (apt-get install ${holder})`);
  });
  const verbose = output('ld', ['-static', '--verbose'], 'binutils');
  const [, linkerScript] = verbose.split(/^={20,}$/m);
  if (linkerScript === undefined) {
    throw new StaticNodeError(
      'ETOOL',
      'ld -static --verbose prints no linker script; GNU ld is needed',
    );
  }
  return { version: `${firstLine(compiler)}; ${firstLine(linker)}`, archives, linkerScript };
}

/** Runs the compiler driver, which runs the assembler and the linker. */
export function compile(argv: readonly string[], directory: string): void {
  const { status, stderr, error } = spawnSync('g++', argv, { cwd: directory, encoding: 'utf8' });
  if (error) throw new StaticNodeError('ELINK', `cannot run g++: ${error.message}`);
  if (status === 0) return;
  const undefinedNames = [...stderr.matchAll(/undefined reference to `([^']+)'/g)].map(
    ([, n]) => n,
  );
  if (undefinedNames.length > 0) {
    const names = [...new Set(undefinedNames)].join(', ');
    throw new StaticNodeError(
      'EUNFIT',
      `the binary imports what no static archive defines: ${names}`,
    );
  }
  const lines = stderr.trim().split('\n');
  const line = lines.find((each) => /error|overlap/i.test(each)) ?? lines[0] ?? `exit ${status}`;
  throw new StaticNodeError('ELINK', `the link failed: ${line}`);
}

export const linkedLibraries = libraries.map((library) => `-l${library}`);

function output(command: string, argv: readonly string[], debianPackage: string): string {
  try {
    return execFileSync(command, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (cause) {
    throw new StaticNodeError('ETOOL', `no ${command} (apt-get install ${debianPackage})`, {
      cause,
    });
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
