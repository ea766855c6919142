import { closeSync, fstatSync, openSync, type Stats } from 'node:fs';
import { ImageError } from './image-error.ts';

/** Files that go into an image; closed when it is made. */
export class OpenedFiles implements Disposable {
  readonly #opened: { readonly fd: number; readonly path: string; readonly before: Stats }[] = [];

  /** @throws {ImageError} EMISSING, with what would provide the file */
  open(path: string, provide: string): { readonly fd: number; readonly size: number } {
    try {
      const fd = openSync(path, 'r');
      const before = fstatSync(fd);
      this.#opened.push({ fd, path, before });
      return { fd, size: before.size };
    } catch (error) {
      const { message } = error as Error;
      throw new ImageError('EMISSING', `cannot open ${path}: ${message}. ${provide}`);
    }
  }

  /** @throws {ImageError} ECHANGED where one of them is not what it was when it was opened */
  checkUnchanged(): void {
    for (const { fd, path, before } of this.#opened) {
      const now = fstatSync(fd);
      if (now.size === before.size && now.mtimeMs === before.mtimeMs) continue;
      throw new ImageError(
        'ECHANGED',
        `${path} was written to while it was read. End what writes to it, a virtual machine perhaps, and try again`,
      );
    }
  }

  [Symbol.dispose](): void {
    for (const { fd } of this.#opened) closeSync(fd);
  }
}
