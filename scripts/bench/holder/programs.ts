import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from '../compile.ts';
import { officialNode, officialProgram } from '../official-program.ts';

/** A program that holds a socket, under the name that the tables give it. */
export interface HolderProgram {
  readonly name: string;
  readonly path: string;
}

export interface HolderPrograms {
  readonly all: readonly HolderProgram[];
  /** `node -e 0` of the official binary, which holds nothing. */
  readonly emptyScript: HolderProgram & { readonly argv: readonly string[] };
  /** A client of a holder: peers/connect.c, compiled. */
  readonly connect: string;
  /** What starts and measures them: peers/measure.c, compiled. */
  readonly measure: string;
  /** A directory for what they make. */
  readonly scratch: string;
}

export const ours = 'container-disk';
export const official = 'official Node.js';
export const emptyScript = 'official node -e 0';

/** @param scratch a directory */
export async function holderPrograms(scratch: string): Promise<HolderPrograms> {
  const built = join(import.meta.dirname, '../../../dist/container-disk');
  if (!existsSync(built)) throw new Error(`${built} is missing: npm run build comes first`);
  return {
    all: [
      { name: ours, path: built },
      { name: official, path: await officialProgram(scratch) },
      { name: 'C, dynamic', path: compile('holder', scratch) },
      { name: 'C, static', path: compile('holder', scratch, '-static') },
    ],
    emptyScript: { name: emptyScript, path: officialNode, argv: ['-e', '0'] },
    connect: compile('connect', scratch),
    measure: compile('measure', scratch),
    scratch,
  };
}
