import { basename, dirname, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** What a Node.js single executable application is made of. */
export interface Bundle {
  /** The CommonJS file that it starts from. */
  readonly main: Uint8Array;
  /** CommonJS files that are loaded when they are needed, by the names of the application's assets. */
  readonly assets: ReadonlyMap<string, Uint8Array>;
}

/**
 * Bundles the program, minified.
 *
 * What `lazy` names stays out of the file that the program starts from, as V8 reads a file to its end before it runs
 * the first line of it. An `import()` of such a file loads an asset instead.
 *
 * @param entry the file that the program starts from
 * @param lazy files beside it
 * @param target version of Node.js, as esbuild has it: `node26.12.1`
 */
export async function bundle(
  entry: string,
  target: string,
  lazy: readonly string[] = [],
): Promise<Bundle> {
  const main = await bundleFile(entry, target, [loadAssets(lazy)]);
  const assets = new Map<string, Uint8Array>();
  for (const name of lazy)
    assets.set(name, await bundleFile(join(dirname(entry), name), target, []));
  return { main, assets };
}

/** Puts a module in the place of each lazy file that compiles the asset of this name. */
function loadAssets(lazy: readonly string[]): Plugin {
  const namespace = 'asset';
  return {
    name: 'assets',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ path, kind }) => {
        const name = basename(path);
        return kind === 'dynamic-import' && lazy.includes(name)
          ? { path: name, namespace }
          : undefined;
      });
      onLoad({ filter: /.*/, namespace }, ({ path }) => ({
        contents: `
          const { getAsset } = require('node:sea');
          const { compileFunction } = require('node:vm');
          const source = getAsset(${JSON.stringify(path)}, 'utf8');
          compileFunction(source, ['module', 'exports', 'require'])(module, exports, require);
        `,
      }));
    },
  };
}

async function bundleFile(
  entry: string,
  target: string,
  plugins: BuildOptions['plugins'] & object,
): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    legalComments: 'none',
    platform: 'node',
    format: 'cjs',
    target,
    plugins,
    logLevel: 'error',
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return file.contents;
}
