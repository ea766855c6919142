/** What an initramfs holds. Parents come before what is in them. */
export interface ArchiveEntry {
  /** Without a slash in front. */
  readonly path: string;
  /** File type and permissions, as `st_mode`. */
  readonly mode: number;
  readonly content?: Buffer;
  /** Of a device node: major and minor. */
  readonly device?: readonly [major: number, minor: number];
}

export const directory = 0o040755;
export const executable = 0o100755;
export const regularFile = 0o100644;
export const characterDevice = 0o020600;

/** An archive in the format that the kernel unpacks: `newc` of cpio(5), Documentation/driver-api/early-userspace/buffer-format.rst. */
export function newcArchive(entries: readonly ArchiveEntry[]): Buffer {
  const all = [...entries, { path: 'TRAILER!!!', mode: 0 }];
  return Buffer.concat(all.map((entry, index) => archived(entry, index + 1)));
}

function archived({ path, mode, content, device }: ArchiveEntry, inode: number): Buffer {
  const name = Buffer.from(`${path}\0`);
  const bytes = content ?? Buffer.alloc(0);
  const [major, minor] = device ?? [0, 0];
  const links = 1;
  const fields = [
    ...[inode, mode, 0, 0, links, 0, bytes.length], // ino, mode, uid, gid, nlink, mtime, filesize
    ...[0, 0, major, minor, name.length, 0], // devmajor, devminor, rdevmajor, rdevminor, namesize, check
  ];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  return Buffer.concat([padded(Buffer.concat([Buffer.from(header), name])), padded(bytes)]);
}

/** Names and contents each end at a multiple of four bytes. */
function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
}
