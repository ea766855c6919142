import type { Owner } from '../../src/mounter/host-options.ts';

/** A file of an image's layer. Paths are relative to the image's root. */
export type Entry = DirectoryEntry | FileEntry | LinkEntry;

interface EntryBase {
  /** Without a slash at either end. */
  readonly path: string;
  readonly owner: Owner;
}

export interface DirectoryEntry extends EntryBase {
  readonly type: 'directory';
  readonly mode: number;
}

export interface FileEntry extends EntryBase {
  readonly type: 'file';
  readonly mode: number;
  /** Open for reading; read from its begin to `size`, stays open. */
  readonly fd: number;
  /** Bytes. */
  readonly size: number;
}

export interface LinkEntry extends EntryBase {
  readonly type: 'symlink';
  readonly target: string;
}
