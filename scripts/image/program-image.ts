import { existsSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import type { Entry } from './entry.ts';
import type { Image } from './layout.ts';
import { licences as licenceFiles } from './licences.ts';
import type { OpenedFiles } from './opened-files.ts';
import type { Reference } from './reference.ts';

const root = join(import.meta.dirname, '../..');
const owner = { uid: 0, gid: 0 };

/**
 * The image that the copy step runs in, and the hotplug pod: the program, `cp` linked to it, licences.
 *
 * @param files closed by whoever writes the image
 * @param warn is told what is not in the image
 */
export function programImage(
  files: OpenedFiles,
  reference: Reference,
  created: Date,
  warn: (message: string) => void,
): Image {
  const file = (path: string, source: string, mode: number, provide: string): Entry => ({
    type: 'file',
    path,
    owner,
    mode,
    ...files.open(source, provide),
  });
  const directory = (path: string): Entry => ({ type: 'directory', path, owner, mode: 0o755 });
  const licences = [...licenceFiles()].filter(([name, path]) => {
    if (existsSync(path)) return true;
    warn(
      `the licence of ${name} is not in the image, as ${path} is not there: pass it on yourself`,
    );
    return false;
  });
  const program = join(root, 'dist/container-disk');
  const entries: Entry[] = [
    directory('licenses'),
    ...licences.map(([name, path]) => file(`licenses/${name}`, path, 0o644, 'npm ci provides it')),
    directory('usr'),
    directory('usr/bin'),
    file('usr/bin/container-disk', program, 0o755, 'npm run build makes it'),
    { type: 'symlink', path: 'usr/bin/cp', owner, target: 'container-disk' },
  ];
  return {
    reference,
    created,
    entries,
    architecture: 'amd64',
    entrypoint: ['/usr/bin/container-disk'],
    labels: {
      'org.opencontainers.image.created': created.toISOString(),
      'org.opencontainers.image.description':
        'Holds the UNIX socket that leads the host to the disk of a container disk image.',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.title': 'container-disk',
      'org.opencontainers.image.version': packageJson.version,
    },
  };
}
