import { constants } from 'node:fs';

/** The type of a file in messages, by `st_mode` of inode(7). */
export function fileTypeName(mode: number): string {
  switch (mode & constants.S_IFMT) {
    case constants.S_IFREG:
      return 'a regular file';
    case constants.S_IFDIR:
      return 'a directory';
    case constants.S_IFIFO:
      return 'a named pipe';
    case constants.S_IFSOCK:
      return 'a socket';
    case constants.S_IFBLK:
    case constants.S_IFCHR:
      return 'a device';
    default:
      return 'a link';
  }
}
