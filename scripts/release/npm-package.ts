import { chmodSync, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { tool } from './tool.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Makes the npm package of the mounter: compiled JavaScript, types, documentation. It is put together in a folder of
 * its own, so that nothing of an earlier build gets in; what only the repository needs is not in its package.json.
 *
 * @param scratch an empty directory
 * @returns path of the tarball
 */
export function npmPackage(scratch: string): string {
  const contents = join(scratch, 'contents');
  mkdirSync(contents);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const output = join(contents, 'dist/mounter');
  const project = join(root, 'tsconfig.library.json');
  tool(process.execPath, [compiler, '-p', project, '--outDir', output]);
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs']) {
    cpSync(join(root, name), join(contents, name), { recursive: true });
  }
  const { devDependencies: _dev, scripts: _scripts, ...published } = packageJson;
  writeFileSync(join(contents, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
  giveModes(contents);
  const argv = ['pack', '--ignore-scripts', '--silent', '--pack-destination', scratch, contents];
  return join(scratch, tool('npm', argv).trim());
}

/** npm takes the modes of files along, and those are the umask's. */
function giveModes(directory: string): void {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
}
