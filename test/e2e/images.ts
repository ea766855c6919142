import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diskImage } from '../../scripts/image/disk-image.ts';
import type { Image } from '../../scripts/image/layout.ts';
import { OpenedFiles } from '../../scripts/image/opened-files.ts';
import { writeImage } from '../../scripts/image/output.ts';
import { programImage } from '../../scripts/image/program-image.ts';
import { parseReference } from '../../scripts/image/reference.ts';
import { pauseImage } from './containerd.ts';

const created = new Date(0);
const owner = { uid: 107, gid: 107 };

/** What is in the images of the tests' virtual machines. */
export const contents = {
  root: Buffer.alloc(2 ** 20, 'root disk '),
  data: Buffer.alloc(2 ** 19, 'data disk '),
  extra: Buffer.alloc(2 ** 18, 'extra disk '),
  kernel: Buffer.from('kernel'),
  initrd: Buffer.from('initrd'),
};

export const references = {
  root: 'registry.example/root-disk:test',
  data: 'registry.example/data-disk:test',
  extra: 'registry.example/extra-disk:test',
  kernelBoot: 'registry.example/kernel-boot:test',
};

/** Archives of all images that the pods of the tests need, in a directory. */
export async function writeImages(directory: string): Promise<string[]> {
  using files = new OpenedFiles();
  const file = (name: string, content: Buffer): string => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  const program = programImage(
    files,
    parseReference('registry.example/container-disk:test'),
    created,
    () => {},
  );
  const disk = (name: 'root' | 'data' | 'extra'): Image =>
    diskImage(files, {
      disk: file(`${name}.img`, contents[name]),
      reference: parseReference(references[name]),
      architecture: 'amd64',
      created,
    });
  const boot = (name: 'kernel' | 'initrd') => ({
    type: 'file' as const,
    path: `boot/${name}`,
    owner,
    mode: 0o444,
    ...files.open(file(name, contents[name]), ''),
  });
  const images: Image[] = [
    program,
    {
      ...program,
      reference: parseReference(pauseImage),
      // A sandbox has nothing else that can be written to, and this only as root.
      command: ['--copy-path', '/dev/pause'],
    },
    ...(['root', 'data', 'extra'] as const).map(disk),
    {
      reference: parseReference(references.kernelBoot),
      created,
      architecture: 'amd64',
      labels: {},
      entries: [
        { type: 'directory', path: 'boot', owner, mode: 0o755 },
        boot('kernel'),
        boot('initrd'),
      ],
    },
  ];
  const archives: string[] = [];
  for (const [index, image] of images.entries()) {
    archives.push((await writeImage(join(directory, `image-${index}`), image)).archive);
  }
  return archives;
}
