import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** The first part of the mounts is made one by one, the others are copies of it, each part at once. */
const parts = 10;

const script = `
  mount -t tmpfs others "$1"
  mkdir "$1/first"
  for index in $(seq 2 "$2"); do
    mkdir "$1/first/$index"
    mount --bind "$1/first/$index" "$1/first/$index"
  done
  for copy in $(seq 2 "$3"); do
    mkdir "$1/$copy"
    mount --rbind "$1/first" "$1/$copy"
  done`;

/** Many mounts on the host that are nobody's business, until they are disposed of. */
export class OtherMounts implements Disposable {
  readonly #top: string;

  /**
   * @param directory a new one
   * @param count a multiple of 10
   */
  constructor(directory: string, count: number) {
    this.#top = directory;
    mkdirSync(directory);
    execFileSync('sh', ['-ec', script, 'sh', directory, String(count / parts), String(parts)]);
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['-l', this.#top]);
  }
}
