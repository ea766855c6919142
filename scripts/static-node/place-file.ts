import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs';

/** Gives a finished file its name, so that whoever sees the name sees all of it, also after a power failure. */
export function placeFile(finished: string, output: string): void {
  const descriptor = openSync(finished, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(finished, output);
}
