import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { licences } from '../image/licences.ts';
import { ReleaseError } from './release-error.ts';

const root = join(import.meta.dirname, '../..');

/** What goes along with a program that has parts of glibc in it (LGPL 2.1, section 6). */
const programNotice = `This program contains Node.js and the software that Node.js includes, commander, and
statically linked parts of the GNU C Library (glibc), libstdc++ and libgcc. Their licences follow.

The GNU C Library is used under the GNU Lesser General Public License, version 2.1 or later, whose
text is below. You may change the library, and link this program anew with what you have changed:
its complete source and the scripts that link it are published with it, and take nothing but the
official Node.js binary and the static archives of a toolchain (docs/static-node.md). To reverse
engineer the program for debugging such changes is permitted.
`;

const packageNotice = `The package contains no software of others. npm installs these with it, each with its own
licence file:
`;

/**
 * The licences of what the program contains, one after the other.
 *
 * @throws {ReleaseError} EMISSING where one of them is not on this machine
 */
export function programLicences(): string {
  return document(
    programNotice,
    [...licences()].map(([name, path]) => [name, textOf(name, path)]),
  );
}

/** The licences of what npm installs with the package on Linux. */
export function packageLicences(): string {
  return document(
    packageNotice,
    Object.keys(packageJson.dependencies).map((name) => {
      const folder = join(root, 'node_modules', name);
      const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.(txt|md))?$/i.test(entry));
      return [name, textOf(name, join(folder, file ?? 'LICENSE'))];
    }),
  );
}

function textOf(name: string, path: string): string {
  if (!existsSync(path)) {
    throw new ReleaseError(
      'EMISSING',
      `the licence of ${name} is not at ${path}: who distributes the program has to pass it on`,
    );
  }
  return readFileSync(path, 'utf8').trim();
}

function document(notice: string, texts: readonly (readonly [string, string])[]): string {
  const line = '='.repeat(80);
  return `${notice}${texts.map(([name, text]) => `\n${line}\n${name}\n${line}\n\n${text}\n`).join('')}`;
}
