import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Bytes compared at a time: it has to fit into a 40 MB memory cgroup many times over. */
const step = 256 * 1024;

/** Whether two regular files hold the same bytes. The last name of `other` is not followed where it is a link. */
export function sameContent(one: string, other: string): boolean {
  using first = openFile(one, 0);
  using second = openFile(other, constants.O_NOFOLLOW);
  const [a, b] = [fstatSync(first.fd), fstatSync(second.fd)];
  if (a.dev === b.dev && a.ino === b.ino) return true;
  if (a.size !== b.size) return false;
  const [left, right] = [Buffer.allocUnsafe(step), Buffer.allocUnsafe(step)];
  for (let position = 0; position < a.size; ) {
    const length = fill(first.fd, left, position);
    if (length === 0 || fill(second.fd, right, position) !== length) return false;
    if (left.compare(right, 0, length, 0, length) !== 0) return false;
    position += length;
  }
  return true;
}

/** read(2) may give less than it was asked for before the end of the file. */
function fill(fd: number, buffer: Buffer, position: number): number {
  let filled = 0;
  while (filled < buffer.length) {
    const count = readSync(fd, buffer, filled, buffer.length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

function openFile(path: string, flags: number): Disposable & { readonly fd: number } {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}
