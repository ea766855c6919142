import { constants } from 'node:fs';
import { Descriptor } from '../kernel/descriptor.ts';
import { type DirectoryEntry, directoryEntries } from '../kernel/directory-entries.ts';

/** How many names of a directory are looked at: a tenant can make as many as it likes. */
export const mostNames = 10_000;

/** What is in a directory that is open with O_PATH. */
export function entriesIn(directory: Descriptor, most = mostNames): DirectoryEntry[] {
  using readable = Descriptor.open(
    directory.entry('.'),
    constants.O_RDONLY | constants.O_DIRECTORY,
  );
  return directoryEntries(readable.number, most);
}

export function namesIn(directory: Descriptor, most?: number): string[] {
  return entriesIn(directory, most).map(({ name }) => name);
}
