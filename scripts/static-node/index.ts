import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cacheKey, removeLeftovers } from './cache.ts';
import { readBinary } from './read-binary.ts';
import { relink } from './relink.ts';
import type { Log } from './step.ts';
import { findToolchain } from './toolchain.ts';

export { checkStatic } from './check.ts';
export { type RelinkOptions, relink } from './relink.ts';
export { StaticNodeError } from './static-node-error.ts';
export type { Log, Step } from './step.ts';
export { findToolchain, type Toolchain } from './toolchain.ts';

export interface StaticNodeOptions {
  /** Path of the official Node.js binary. */
  readonly node: string;
  /** Where results are kept, by what they were made from. */
  readonly cacheDirectory: string;
  /** Keep the locale data (`Intl`, `toLocaleString`); false unless set. */
  readonly intl?: boolean;
  readonly log?: Log;
}

/** The static Node.js, and whether it was there already. */
export interface StaticNode {
  readonly path: string;
  readonly cached: boolean;
}

/**
 * Makes a fully static Node.js of the official binary, or finds the one that was made before from the same binary,
 * compiler, archives and relinker. Several may run at once.
 *
 * @throws StaticNodeError
 */
export async function makeStaticNode(options: StaticNodeOptions): Promise<StaticNode> {
  const { node, cacheDirectory, intl = false, log } = options;
  const start = performance.now();
  const toolchain = await findToolchain();
  mkdirSync(cacheDirectory, { recursive: true });
  const path = join(
    cacheDirectory,
    `static-node-${cacheKey(readBinary(node), toolchain, { intl })}`,
  );
  const cached = existsSync(path);
  if (!cached) {
    removeLeftovers(cacheDirectory);
    await relink(node, path, { intl, toolchain, ...(log ? { log } : {}) });
  }
  const milliseconds = performance.now() - start;
  log?.({ name: 'static Node.js', milliseconds, bytes: statSync(path).size, cached });
  return { path, cached };
}
