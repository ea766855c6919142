import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The machine's own Node.js, which may be older; else the one that runs this. */
export function otherNode(): string {
  const directories = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((name) => !name.includes('node_modules'));
  return directories.map((name) => join(name, 'node')).find(existsSync) ?? process.execPath;
}
