import { readFileSync } from 'node:fs';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { Comparison } from '../comparison.ts';
import type { HolderPrograms } from './programs.ts';

const megabyte = 1e6;

/** The file, and what a registry keeps of it by either compression of image layers, at its default level. */
export function size({ all }: HolderPrograms): Comparison {
  return {
    name: 'size',
    figures: [
      { id: 'size', title: 'file', unit: 'MB' },
      { id: 'size-gzip', title: 'file, gzip', unit: 'MB' },
      { id: 'size-zstd', title: 'file, zstd', unit: 'MB' },
    ],
    contestants: all.map(({ name, path }) => ({
      name,
      measure: () => {
        const bytes = readFileSync(path);
        return {
          size: bytes.length / megabyte,
          'size-gzip': gzipSync(bytes).length / megabyte,
          'size-zstd': zstdCompressSync(bytes).length / megabyte,
        };
      },
    })),
    rounds: 1,
    warmUp: false,
  };
}
