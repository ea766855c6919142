import { constants } from 'node:fs';
import { Descriptor } from '../kernel/descriptor.ts';
import { directoryEntries } from '../kernel/directory-entries.ts';
import { O_PATH } from '../kernel/open-flags.ts';
import { openat2, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS } from '../kernel/openat2.ts';
import { type FileStatus, statx } from '../kernel/statx.ts';
import { printable } from '../kubevirt/printable.ts';
import { fileTypeName } from './file-type.ts';
import type { Owner } from './host-options.ts';
import { MounterError, messageOf } from './mounter-error.ts';
import { mostNames } from './names-in.ts';

/** Where an image has its disk when the VMI does not say. */
const diskDirectory = '/disk';

/** How many names of a directory a message shows. */
const shown = 5;

/** Links lead from the image's root again, never out of it; what lies on another mount in the image is fine. */
const inImage = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;

/** A file in an image, open with O_PATH. */
export interface ImageFile {
  readonly file: Descriptor;
  /** The path in the image that it was found at. */
  readonly path: string;
  readonly status: FileStatus;
}

/**
 * The disk in an image: at `path`, or the one file in `/disk`.
 *
 * @param root descriptor of the image's root
 * @param image what the image is called in messages
 * @throws MounterError EDISK
 */
export function openDisk(root: number, path: string | undefined, image: string): ImageFile {
  return openImageFile(root, path ?? onlyDisk(root, image), image);
}

/**
 * A regular file of an image, or of a volume.
 *
 * @param resolve what else openat2(2) must not do than leave it (RESOLVE_*)
 */
export function openImageFile(root: number, path: string, image: string, resolve = 0): ImageFile {
  const named = `${printable(path)} in ${image}`;
  let file: Descriptor;
  try {
    file = openat2(root, path.replace(/^\/+/, '') || '.', {
      flags: O_PATH,
      resolve: inImage | resolve,
    });
  } catch (cause) {
    throw new MounterError('EDISK', `no disk at ${named}: ${messageOf(cause)}`, { cause });
  }
  try {
    const status = statx(file.number);
    if ((status.mode & constants.S_IFMT) === constants.S_IFREG) return { file, path, status };
    const type = fileTypeName(status.mode);
    throw new MounterError('EDISK', `${named} is not a regular file, but ${type}`);
  } catch (error) {
    file[Symbol.dispose]();
    throw error;
  }
}

function onlyDisk(root: number, image: string): string {
  let names: string[];
  try {
    using directory = openat2(root, diskDirectory.slice(1), {
      flags: constants.O_RDONLY | constants.O_DIRECTORY,
      resolve: inImage,
    });
    names = directoryEntries(directory.number, mostNames).map(({ name }) => name);
  } catch (cause) {
    throw new MounterError(
      'EDISK',
      `no directory ${diskDirectory} in ${image}: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
  const [only] = names;
  if (only !== undefined && names.length === 1) return `${diskDirectory}/${only}`;
  const list = names.sort().slice(0, shown).map(printable).join(', ');
  const count = names.length < mostNames ? `${names.length}` : `${mostNames} or more`;
  const found = names.length === 0 ? 'it is empty' : `${count} are there: ${list}`;
  throw new MounterError(
    'EDISK',
    `${diskDirectory} in ${image} has to hold exactly one file, but ${found}${names.length > shown ? '…' : ''} (containerDisk.path chooses one)`,
  );
}

/**
 * Refuses a file that QEMU could not read: the bits that apply to its uid and gid.
 *
 * @throws MounterError EDISK
 */
export function refuseUnreadable({ path, status }: ImageFile, owner: Owner, image: string): void {
  const { mode, uid, gid } = status;
  const bits = uid === owner.uid ? mode >> 6 : gid === owner.gid ? mode >> 3 : mode;
  if (bits & 4) return;
  const permissions = (mode & 0o7777).toString(8).padStart(4, '0');
  throw new MounterError(
    'EDISK',
    `${printable(path)} in ${image} cannot be read by uid ${owner.uid}: it belongs to ${uid}:${gid} with mode ${permissions}. Build the image with COPY --chown=${owner.uid}:${owner.gid} --chmod=0440`,
  );
}

/** Opens for reading the very file that is open with O_PATH; it is known to be regular, so that nothing waits. */
export function reopenForReading(file: Descriptor): Descriptor {
  return Descriptor.open(file.path, constants.O_RDONLY | constants.O_NONBLOCK);
}
