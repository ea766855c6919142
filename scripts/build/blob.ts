import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bundle } from './bundle.ts';

/**
 * Command line of the program before its own arguments, chosen by what was measured: without them Node.js
 * starts seven threads, with them three. Flags that change V8's flag hash would have it reject its code cache.
 */
const execArgv = ['--v8-pool-size=0', '--disable-sigusr1'];

/**
 * Makes the blob of a single executable application (Node.js documentation, "Single executable applications").
 *
 * V8's code cache stays out: it holds a random seed, so that two builds differ, and what is loaded at start-up
 * is so little that compiling it costs less than reading the cache does.
 */
export function blob(node: string, { main, assets }: Bundle, directory: string): Buffer {
  writeFileSync(join(directory, 'main.cjs'), main);
  for (const [name, content] of assets) writeFileSync(join(directory, `${name}.cjs`), content);
  const configuration = {
    main: 'main.cjs',
    assets: Object.fromEntries(Array.from(assets.keys(), (name) => [name, `${name}.cjs`])),
    output: 'sea.blob',
    disableExperimentalSEAWarning: true,
    useCodeCache: false,
    execArgv,
    execArgvExtension: 'none',
  };
  writeFileSync(join(directory, 'sea.json'), JSON.stringify(configuration));
  execFileSync(node, ['--experimental-sea-config', 'sea.json'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return readFileSync(join(directory, 'sea.blob'));
}
