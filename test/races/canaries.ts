import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parseMountinfo } from '../../src/kernel/mountinfo.ts';

const content = 'canary '.repeat(1024);

/** setxattr(2) and getxattr(2) on each architecture. */
const calls: Partial<Record<NodeJS.Architecture, readonly [number, number]>> = {
  x64: [188, 191],
  arm64: [5, 8],
};

const attribute = `
  my ($number, $path, $value) = @ARGV;
  my ($name, $buffer) = ('trusted.canary', $value // ' ' x 64);
  my $size = syscall(int($number), $path, $name, $buffer, length $buffer, 0);
  die "xattr of $path: $!" if $size < 0;
  print substr $buffer, 0, $size;
`;

/**
 * Files, a directory, a socket and a mount of the host that nobody may touch, on a file system of their own that
 * keeps every time of access: a single read of one shows, and a mount of one does by its device.
 */
export class Canaries {
  readonly directory: string;
  readonly #listening: Promise<unknown>;
  #before: ReadonlyMap<string, object> = new Map();
  #knocks = 0;

  private constructor(t: Test, directory: string) {
    this.directory = directory;
    mkdirSync(directory);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=755,strictatime', 'canary', directory]);
    t.teardown(() => execFileSync('umount', ['-l', directory]));
    mkdirSync(join(directory, 'directory'));
    for (const name of ['file', 'directory/file', 'mounted']) makeFile(join(directory, name));
    writeFileSync(join(directory, 'mountpoint'), '');
    execFileSync('mount', ['--bind', join(directory, 'mounted'), join(directory, 'mountpoint')]);
    const server = createServer((connection) => {
      this.#knocks += 1;
      connection.destroy();
    });
    t.teardown(() => server.close());
    this.#listening = once(server.listen(join(directory, 'socket')), 'listening');
  }

  static async make(t: Test, directory: string): Promise<Canaries> {
    const canaries = new Canaries(t, directory);
    await canaries.#listening;
    chmodSync(join(directory, 'socket'), 0o777);
    canaries.#before = canaries.#shapes();
    return canaries;
  }

  /** Whether a file is on the file system of the canaries, by `st_dev`. */
  isOne(device: number): boolean {
    return device === lstatSync(this.directory).dev;
  }

  /** Mounts of the file system of the canaries, by mount point. */
  mounts(): string[] {
    const { dev } = lstatSync(this.directory);
    const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
    return parseMountinfo(readFileSync('/proc/self/mountinfo'))
      .filter((mount) => mount.major === major && mount.minor === minor)
      .map(({ mountPoint }) => mountPoint);
  }

  /** Compares all that can be told of them with what it was. */
  compare(t: Test): void {
    t.strictSame(this.#shapes(), this.#before, 'owner, mode, times, attributes are what they were');
    for (const name of ['file', 'directory/file', 'mounted', 'mountpoint']) {
      t.equal(readFileSync(join(this.directory, name), 'utf8'), content, `the content of ${name}`);
    }
    const points = [this.directory, join(this.directory, 'mountpoint')];
    t.strictSame(this.mounts(), points, 'they are mounted where they were');
    t.equal(this.#knocks, 0, 'nobody has connected to the socket of the host');
  }

  /** All but the content, for reading that changes the time of access. */
  #shapes(): Map<string, object> {
    const names = readdirSync(this.directory, { recursive: true, encoding: 'utf8' });
    return new Map(names.sort().map((name) => [name, shapeOf(join(this.directory, name))]));
  }
}

function makeFile(path: string): void {
  const [setxattr] = calls[process.arch] ?? [];
  writeFileSync(path, content);
  chownSync(path, 4711, 4712);
  chmodSync(path, 0o4640);
  execFileSync('perl', ['-e', attribute, String(setxattr), path, 'of the host']);
  utimesSync(path, 1_000_000, 2_000_000);
}

function shapeOf(path: string): object {
  const status = lstatSync(path);
  const { mode, uid, gid, size, ino, dev, nlink, mtimeMs } = status;
  if (!status.isFile()) return { mode, uid, gid, ino, dev, nlink, mtimeMs };
  const [, getxattr] = calls[process.arch] ?? [];
  const { atimeMs, ctimeMs } = status;
  const argv = ['-e', attribute, String(getxattr), path];
  const xattr = execFileSync('perl', argv, { encoding: 'utf8' });
  return { mode, uid, gid, size, ino, dev, nlink, mtimeMs, atimeMs, ctimeMs, xattr };
}
