import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';

/** A file as a block device (loop(4)), until it is disposed of. */
export class LoopDevice implements Disposable {
  readonly path: string;
  readonly major: number;
  readonly minor: number;

  constructor(file: string) {
    this.path = execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
    const { rdev } = statSync(this.path);
    this.major = (rdev >> 8) & 0xfff;
    this.minor = (rdev & 0xff) | ((rdev >> 12) & 0xfff00);
  }

  /** `major:minor` */
  get number(): string {
    return `${this.major}:${this.minor}`;
  }

  /** A node of the device, as the runtime makes it in a pod's directory. */
  makeNode(path: string): void {
    execFileSync('mknod', ['-m', '660', path, 'b', String(this.major), String(this.minor)]);
  }

  [Symbol.dispose](): void {
    execFileSync('losetup', ['--detach', this.path]);
  }
}
