import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { relink } from './relink.ts';
import { findToolchain, type Toolchain } from './toolchain.ts';

export { checkStatic } from './check.ts';

export interface StaticNodeOptions {
  /** Path of the official Node.js binary. */
  readonly node: string;
  /** Where results are kept, by what they were made from. */
  readonly cacheDirectory: string;
  /** Keep the locale data (`Intl`, `toLocaleString`). */
  readonly intl?: boolean;
}

/** The static Node.js, and whether it was there already. */
export interface StaticNode {
  readonly path: string;
  readonly cached: boolean;
}

/**
 * Makes a fully static Node.js of the official binary, or finds the one that was made before from the same binary,
 * compiler, archives and relinker.
 *
 * @throws StaticNodeError
 */
export function makeStaticNode({
  node,
  cacheDirectory,
  intl = false,
}: StaticNodeOptions): StaticNode {
  const toolchain = findToolchain();
  mkdirSync(cacheDirectory, { recursive: true });
  const path = join(cacheDirectory, `static-node-${key(node, toolchain, intl)}`);
  const cached = existsSync(path);
  if (!cached) relink(node, path, toolchain, { intl });
  return { path, cached };
}

/** A hash of all that the result depends on. Files of the installation are known by their size and time. */
function key(node: string, { version, archives, linkerScript }: Toolchain, intl: boolean): string {
  const hash = createHash('sha256').update(JSON.stringify({ version, linkerScript, intl }));
  for (const path of [node, ...archives.map((archive) => archive.path)]) {
    const { size, mtimeMs } = statSync(path);
    hash.update(JSON.stringify({ path, size, mtimeMs }));
  }
  for (const name of readdirSync(import.meta.dirname).sort()) {
    hash.update(readFileSync(join(import.meta.dirname, name)));
  }
  return hash.digest('hex').slice(0, 24);
}
