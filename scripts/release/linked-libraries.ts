import { spawnSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { findToolchain } from '../static-node/toolchain.ts';
import { ReleaseError } from './release-error.ts';
import { tool } from './tool.ts';

/** Something that is linked into the program. */
export interface LinkedLibrary {
  /** The Debian package of the archives, or their project where the machine has no dpkg. */
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  readonly purl: string;
  /** The archives, sorted. */
  readonly archives: readonly string[];
}

const licences = [
  { of: /^(glibc|libc6)/, licence: 'LGPL-2.1-or-later' },
  { of: /^(gcc|libgcc|libstdc\+\+)/, licence: 'GPL-3.0-or-later WITH GCC-exception-3.1' },
];

/** The packages of the static archives that the toolchain has for the program. */
export async function linkedLibraries(): Promise<LinkedLibrary[]> {
  const { archives } = await findToolchain();
  const paths = archives.map(({ path }) => realpathSync(path));
  const byPackage = new Map<string, string[]>();
  for (const path of paths) {
    const owner = ownerOf(path);
    byPackage.set(owner, [...(byPackage.get(owner) ?? []), path]);
  }
  return [...byPackage].sort(([one], [other]) => (one < other ? -1 : 1)).map(describe);
}

function describe([owner, archives]: [string, string[]]): LinkedLibrary {
  const licence = licences.find(({ of }) => of.test(owner))?.licence;
  if (licence === undefined) {
    const what = archives.join(', ');
    throw new ReleaseError('EMISSING', `the licence of ${owner} (${what}) is not known here`);
  }
  const names = archives.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort();
  return { name: owner, licence, archives: names, ...versionOf(owner) };
}

/** The Debian package of a file; without dpkg the project that it comes from. */
function ownerOf(path: string): string {
  const { status, stdout } = spawnSync('dpkg-query', ['--search', path], { encoding: 'utf8' });
  const owner = /^([^:,\s]+)/.exec(stdout ?? '')?.[1];
  if (status === 0 && owner !== undefined) return owner;
  return /lib(stdc\+\+|gcc|gcc_eh|atomic)\.a$/.test(path) ? 'gcc' : 'glibc';
}

function versionOf(owner: string): { version: string; purl: string } {
  if (owner === 'gcc' || owner === 'glibc') {
    const version =
      owner === 'gcc'
        ? tool('g++', ['-dumpfullversion']).trim()
        : tool('getconf', ['GNU_LIBC_VERSION']).trim().replace('glibc ', '');
    return { version, purl: `pkg:generic/${owner}@${version}` };
  }
  // biome-ignore lint/suspicious/noTemplateCurlyInString: fields of dpkg-query(1)
  const format = '${Version} ${Architecture}';
  const [version = '', architecture] = tool('dpkg-query', [
    '--show',
    `--showformat=${format}`,
    owner,
  ]).split(' ');
  const distribution = /^ID="?([a-z]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  const name = `${distribution ?? 'debian'}/${encodeURIComponent(owner)}`;
  return {
    version,
    purl: `pkg:deb/${name}@${encodeURIComponent(version)}?arch=${architecture}`,
  };
}
