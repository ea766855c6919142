import { read } from 'node:fs';
import { promisify } from 'node:util';
import { type Pack, pack } from 'tar-stream';
import type { Entry, FileEntry } from './entry.ts';

type Sink = ReturnType<Pack['entry']>;

const readAt = promisify(read);

/** Bytes that are read at once. */
const chunkSize = 256 * 1024;

/**
 * A tar archive of the entries, in their order. No more of a file is in memory than a few chunks. The bytes depend on
 * nothing but what is given: no names of users, one time for all.
 */
export async function* tar(entries: readonly Entry[], time: Date): AsyncGenerator<Uint8Array> {
  const archive = pack();
  const appended = append(archive, entries, time).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  try {
    for await (const chunk of archive) if (chunk instanceof Uint8Array) yield chunk;
  } finally {
    archive.destroy();
    await appended;
  }
}

async function append(archive: Pack, entries: readonly Entry[], mtime: Date): Promise<void> {
  for (const entry of entries) {
    const { path, owner, type } = entry;
    const common = { name: path, mtime, type, ...owner };
    if (type === 'file') await appendFile(archive, common, entry);
    else if (type === 'symlink') {
      archive.entry({ ...common, mode: 0o777, linkname: entry.target }).end(undefined);
    } else archive.entry({ ...common, name: `${path}/`, mode: entry.mode }).end(undefined);
  }
}

async function appendFile(
  archive: Pack,
  common: { readonly name: string; readonly mtime: Date },
  { fd, size, mode }: FileEntry,
): Promise<void> {
  const file = archive.entry({ ...common, type: 'file', mode, size });
  // What went wrong is thrown where the archive is read.
  file.once('error', () => {});
  const closed = new Promise<void>((resolve) => file.once('close', resolve));
  // A stream would close the descriptor, which is another's, when it is left before its end.
  for (let at = 0; at < size; ) {
    const length = Math.min(size - at, chunkSize);
    const { bytesRead, buffer } = await readAt(fd, Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    if (file.write(buffer.subarray(0, bytesRead))) continue;
    await drained(file);
    if (file.destroyed) return;
  }
  file.end(undefined);
  await closed;
}

/** Until more can be written, or nothing ever again. */
function drained(file: Sink): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      file.off('drain', done);
      file.off('close', done);
      resolve();
    };
    file.once('drain', done);
    file.once('close', done);
  });
}
