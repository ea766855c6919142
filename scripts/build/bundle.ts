import { build } from 'esbuild';

/** One minified CommonJS file, which is what a Node.js single executable application starts from. */
export async function bundle(entry: string, target: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    legalComments: 'none',
    platform: 'node',
    format: 'cjs',
    target,
    logLevel: 'error',
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return file.contents;
}
