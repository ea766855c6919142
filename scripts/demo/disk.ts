import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Bytes of a demo's disk. */
export const diskSize = 16 * 1024 * 1024;

/** Puts a raw disk of random bytes at `/disk/disk.img` of an image's root. */
export async function makeDisk(image: string): Promise<string> {
  const path = join(image, 'disk/disk.img');
  mkdirSync(join(image, 'disk'), { recursive: true });
  writeFileSync(path, randomBytes(diskSize), { mode: 0o444 });
  return sha256(path);
}

export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
