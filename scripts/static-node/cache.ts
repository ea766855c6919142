import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf, type Toolchain } from './toolchain.ts';

/** A hash of all that the result depends on: the binary, the toolchain, the relinker itself, the options. */
export function cacheKey(binary: Buffer, toolchain: Toolchain, options: object): string {
  const sources = readdirSync(import.meta.dirname).sort();
  const parts = [
    JSON.stringify(options),
    binary,
    ...contentsOf(toolchain),
    ...sources.map((name) => readFileSync(join(import.meta.dirname, name))),
  ];
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex').slice(0, 32);
}

const hour = 3_600_000;

/** Removes what builds have left behind that were killed; one that still runs is younger. */
export function removeLeftovers(cacheDirectory: string): void {
  for (const name of readdirSync(cacheDirectory)) {
    if (!name.startsWith('.relink-')) continue;
    const path = join(cacheDirectory, name);
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (Date.now() - made > hour) rmSync(path, { recursive: true, force: true });
  }
}
