import { createRequire } from 'node:module';

/** The version of this package; a package can import itself by its name. */
export function version(): string {
  const { version } = createRequire(import.meta.url)('container-disk/package.json') as {
    version: string;
  };
  return version;
}
