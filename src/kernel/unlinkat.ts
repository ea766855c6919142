import { call } from './libc.ts';

const AT_REMOVEDIR = 0x200;

/** unlinkat(2) of a name in an open directory, which no thread's working directory or mount namespace has a say in. */
export function unlinkat(
  directory: number,
  name: string,
  { isDirectory, path }: { readonly isDirectory: boolean; readonly path: string },
): void {
  call(
    'int unlinkat(int dirfd, const char *path, int flags)',
    'unlinkat',
    path,
    directory,
    name,
    isDirectory ? AT_REMOVEDIR : 0,
  );
}
