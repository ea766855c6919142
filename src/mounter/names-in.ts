import { constants, opendirSync } from 'node:fs';
import { Descriptor } from '../kernel/descriptor.ts';

/** How many names of a directory are looked at: a tenant can make as many as it likes. */
const mostNames = 10_000;

/** The names in a directory that is open with O_PATH; read one by one, so that their number costs no memory. */
export function namesIn(directory: Descriptor, most = mostNames): string[] {
  using readable = Descriptor.open(
    directory.entry('.'),
    constants.O_RDONLY | constants.O_DIRECTORY,
  );
  const names: string[] = [];
  const entries = opendirSync(readable.path);
  try {
    while (names.length < most) {
      const entry = entries.readSync();
      if (entry === null) break;
      names.push(entry.name);
    }
    return names;
  } finally {
    entries.closeSync();
  }
}
