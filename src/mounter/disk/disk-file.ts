import { fstatSync, readSync } from 'node:fs';
import { type DiskRefusal, DiskRefusedError } from './disk-refused-error.ts';

/** st_blocks of stat(2) counts these, whatever the file system's blocks are. */
const statBlockSize = 512;

/** Bytes at the beginning that are read at once: nearly all that a disk is told by is there. */
const headSize = 4608;

/** Memory for the head, which is the next disk's once a disk is verified. */
const head = Buffer.alloc(headSize);

/** The open file of a disk, read at positions; the descriptor's own offset stays where it is. */
export class DiskFile {
  readonly #fd: number;
  readonly #head: Buffer;
  /** What the disk is called in messages. */
  readonly path: string;
  /** Bytes of the file. */
  readonly size: number;
  /** Bytes that the file takes on its file system. */
  readonly allocatedSize: number;

  /** @param fd open for reading; stays open */
  constructor(fd: number, path: string) {
    const stat = fstatSync(fd);
    this.#fd = fd;
    this.path = path;
    this.size = stat.size;
    this.allocatedSize = stat.blocks * statBlockSize;
    if (!stat.isFile()) throw this.refused('ENOTFILE', 'it is not a regular file');
    if (stat.size === 0) throw this.refused('EEMPTY', 'it is an empty file');
    this.#head = this.#read(0, headSize, head);
  }

  /** The bytes at a position; fewer than asked for only where the file ends. */
  read(position: number, length: number): Buffer {
    const isInHead = position + length <= headSize || this.#head.length < headSize;
    return isInHead
      ? this.#head.subarray(position, position + length)
      : this.#read(position, length);
  }

  #read(position: number, length: number, buffer = Buffer.alloc(length)): Buffer {
    let filled = 0;
    while (filled < length) {
      const count = readSync(this.#fd, buffer, filled, length - filled, position + filled);
      filled += count;
      if (count === 0 || position + filled >= this.size) break;
    }
    return buffer.subarray(0, filled);
  }

  /** The bytes at a position, all of them. */
  readAll(position: number, length: number, what: string): Buffer {
    const bytes = this.read(position, length);
    if (bytes.length < length) {
      throw this.refused('ETRUNCATED', `the file ends inside ${what}`, intact);
    }
    return bytes;
  }

  refused(code: DiskRefusal, why: string, remedy?: string): DiskRefusedError {
    return new DiskRefusedError(code, this.path, why, remedy);
  }
}

const intact = 'Build the image again from a disk that "qemu-img check" finds no fault with';
