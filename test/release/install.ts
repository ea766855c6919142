import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import packageJson from '../../package.json' with { type: 'json' };
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');

/**
 * A project that has the package installed from its tarball by `npm install`, without running any script of a package.
 * The lock file has the versions of the repository, so that all of it is in npm's cache after `npm ci`.
 *
 * @returns the project's directory
 */
export function installed(t: Test, tarball: string): string {
  const project = temporaryDirectory(t);
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  const needed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const { name, version, bin, dependencies } = packageJson;
  const own = { [name]: `file:${tarball}` };
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'project', type: 'module', private: true, dependencies: own }),
  );
  writeFileSync(
    join(project, 'package-lock.json'),
    JSON.stringify({
      name: 'project',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'project', dependencies: own },
        [`node_modules/${name}`]: { version, resolved: `file:${tarball}`, bin, dependencies },
        ...Object.fromEntries(needed),
      },
    }),
  );
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', ['install', ...options], { cwd: project });
  return project;
}
