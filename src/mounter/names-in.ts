import { constants, readdirSync } from 'node:fs';
import { Descriptor } from '../kernel/descriptor.ts';

/** How many names of a directory are looked at: a tenant can make as many as it likes. */
const mostNames = 10_000;

/** The names in a directory that is open with O_PATH. */
export function namesIn(directory: Descriptor): string[] {
  using readable = Descriptor.open(
    directory.entry('.'),
    constants.O_RDONLY | constants.O_DIRECTORY,
  );
  return readdirSync(readable.path).slice(0, mostNames);
}
