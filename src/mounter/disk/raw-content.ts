import type { RawContent } from './disk.ts';
import type { DiskFile } from './disk-file.ts';

/** Where each begins: ISO 9660 at its 17th sector of 2048 bytes, GPT in the second logical block, MBR at the end of the first sector. */
const signatures: readonly [content: RawContent, position: number, bytes: Buffer][] = [
  ['iso9660', 16 * 2048 + 1, Buffer.from('CD001')],
  ['gpt', 512, Buffer.from('EFI PART')],
  ['gpt', 4096, Buffer.from('EFI PART')],
  ['mbr', 510, Buffer.from([0x55, 0xaa])],
];

/** What a raw disk begins with, by its signature. A disk that is several is called by the first. */
export function rawContent(disk: DiskFile): RawContent | undefined {
  return signatures.find(([, position, bytes]) =>
    disk.read(position, bytes.length).equals(bytes),
  )?.[0];
}
