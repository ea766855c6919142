import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const kernelName = /^vmlinuz-(.*-cloud-amd64)$/;

/** A kernel of this machine's packages. */
export interface CloudKernel {
  /** Path of the bootable file. */
  readonly path: string;
  /** Path of its directory of modules. */
  readonly modules: string;
}

/** Debian's kernel for virtual machines, the newest that is installed with its modules. */
export function findCloudKernel(): CloudKernel | undefined {
  if (!existsSync('/boot')) return undefined;
  return readdirSync('/boot')
    .sort(new Intl.Collator('en', { numeric: true }).compare)
    .reverse()
    .map((name) => ({
      path: join('/boot', name),
      modules: join('/lib/modules', kernelName.exec(name)?.[1] ?? ''),
    }))
    .find(
      ({ path, modules }) =>
        kernelName.test(basename(path)) && existsSync(`${modules}/modules.dep`),
    );
}

/** A driver as it is loaded. */
export interface KernelModule {
  readonly name: string;
  readonly content: Buffer;
}

/** Drivers and what they need, in the order of loading; without those that are in the kernel itself. */
export function modulesOf(kernel: CloudKernel, names: readonly string[]): KernelModule[] {
  const dependencies = new Map<string, readonly string[]>();
  for (const line of lines(join(kernel.modules, 'modules.dep'))) {
    const [path = '', needed = ''] = line.split(':');
    dependencies.set(path, needed.split(' ').filter(Boolean));
  }
  const builtIn = lines(join(kernel.modules, 'modules.builtin')).map(moduleName);
  const ordered = new Set<string>();
  const load = (path: string) => {
    for (const needed of dependencies.get(path) ?? []) load(needed);
    ordered.add(path);
  };
  for (const name of names.filter((each) => !builtIn.includes(each))) {
    const path = [...dependencies.keys()].find((each) => moduleName(each) === name);
    if (path === undefined) throw new Error(`${kernel.modules} has no module ${name}`);
    load(path);
  }
  return [...ordered].map((path) => ({
    name: `${moduleName(path)}.ko`,
    content: uncompressed(join(kernel.modules, path)),
  }));
}

function moduleName(path: string): string {
  return basename(path).replace(/\.ko(\.xz)?$/, '');
}

function uncompressed(path: string): Buffer {
  if (!path.endsWith('.xz')) return readFileSync(path);
  return execFileSync('xz', ['--decompress', '--stdout', path], { maxBuffer: 64 * 1024 * 1024 });
}

function lines(path: string): string[] {
  return readFileSync(path, 'utf8').trim().split('\n');
}
