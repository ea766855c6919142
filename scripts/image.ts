import { statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { Steps } from './build/steps.ts';
import { diskImage } from './image/disk-image.ts';
import { ImageError } from './image/image-error.ts';
import { OpenedFiles } from './image/opened-files.ts';
import { writeImage } from './image/output.ts';
import { programImage } from './image/program-image.ts';
import { parseReference, referenceText } from './image/reference.ts';
import { sourceDate } from './image/source-date.ts';

interface Options {
  readonly disk?: string;
  readonly name?: string;
  readonly output?: string;
  readonly architecture?: string;
}

const images = join(import.meta.dirname, '../dist/images');

/** `/srv/Fedora 42.qcow2` → `fedora-42` */
function nameOf(disk: string): string {
  const name = basename(disk, extname(disk)).toLowerCase();
  return name.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'disk';
}

function warn(message: string): void {
  console.error(`image: warning: ${message}`);
}

async function makeImage({ disk, name, output, architecture = 'amd64' }: Options): Promise<void> {
  if (disk === undefined && architecture !== 'amd64') {
    throw new ImageError(
      'EUSAGE',
      'the program is built for amd64: --architecture is for a --disk',
    );
  }
  const steps = new Steps();
  const created = sourceDate() ?? new Date(0);
  const reference = parseReference(
    name ?? (disk === undefined ? `container-disk:${packageJson.version}` : nameOf(disk)),
  );
  const directory = resolve(output ?? join(images, basename(reference.repository)));
  using files = new OpenedFiles();
  const image =
    disk === undefined
      ? programImage(files, reference, created, warn)
      : diskImage(files, { disk, reference, architecture, created });
  const written = await writeImage(directory, image, () => files.checkUnchanged());
  console.log(`${referenceText(reference)}@${written.digest}`);
  console.log(`OCI image layout  ${written.layout}`);
  steps.total(written.archive, statSync(written.archive).size);
}

const command = new Command('image')
  .description(
    'Makes the image of the program, or with --disk a container disk image: an OCI image layout and the same as a tar archive.',
  )
  .option('--disk <file>', 'a qcow2 or raw file to make a container disk image of')
  .option('--name <name>', 'the name of the image, as registry.example/fedora-disk:42')
  .option('--output <dir>', 'the image layout; the archive is <dir>.tar (default: dist/images/…)')
  .addOption(
    new Option(
      '--architecture <arch>',
      'of the virtual machine that a disk is for (default: amd64)',
    ).choices(['amd64', 'arm64', 's390x']),
  )
  .action(makeImage);

try {
  await command.parseAsync();
} catch (error) {
  console.error(`image: error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
