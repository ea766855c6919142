import type { DiskFile } from './disk-file.ts';

const sectorSize = 512;

/** A disk format that is neither qcow2 nor raw, by the name that QEMU has for it. */
export type OtherFormat =
  | 'qcow'
  | 'vmdk'
  | 'vdi'
  | 'vhdx'
  | 'vpc'
  | 'qed'
  | 'luks'
  | 'parallels'
  | 'bochs'
  | 'cloop'
  | 'dmg';

/**
 * The formats besides qcow2 that QEMU tells by how a disk begins (the probe functions in its `block/`),
 * by the names that QEMU has for them.
 */
const byHead: Record<Exclude<OtherFormat, 'dmg'>, (head: Buffer) => boolean> = {
  qcow: (head) => starts(head, 'QFI\xfb\0\0\0\x01'),
  vmdk: (head) =>
    starts(head, 'KDMV') || starts(head, 'COWD') || isVmdkDescriptor(head.toString('latin1')),
  vdi: (head) => head.length >= 68 && head.readUInt32LE(64) === 0xbeda107f,
  vhdx: (head) => starts(head, 'vhdxfile'),
  vpc: (head) => starts(head, 'conectix'),
  qed: (head) => starts(head, 'QED\0'),
  luks: (head) => starts(head, 'LUKS\xba\xbe'),
  parallels: (head) => starts(head, 'WithoutFreeSpace') || starts(head, 'WithouFreSpacExt'),
  bochs: (head) => starts(head, 'Bochs Virtual HD Image'),
  cloop: (head) => starts(head, '#!/bin/sh\n#V2.0 Format\nmodprobe cloop file=$0'),
};

/** Formats that are told by the last sector. QEMU takes them for raw, unless it is told their name. */
const byTail: Record<'vpc' | 'dmg', (tail: Buffer) => boolean> = {
  vpc: (tail) => starts(tail, 'conectix'),
  dmg: (tail) => starts(tail, 'koly'),
};

/** The format by the first sector. It is asked of qcow2 as well: one file can begin as two formats. */
export function formatByHead(disk: DiskFile): OtherFormat | undefined {
  return matching(byHead, disk.read(0, sectorSize));
}

export function formatByTail(disk: DiskFile): OtherFormat | undefined {
  return matching(byTail, disk.read(Math.max(0, disk.size - sectorSize), sectorSize));
}

function matching<Format extends string>(
  formats: Record<Format, (sector: Buffer) => boolean>,
  sector: Buffer,
): Format | undefined {
  const names = Object.keys(formats) as Format[];
  return names.find((format) => formats[format](sector));
}

function starts(bytes: Buffer, magic: string): boolean {
  return bytes.subarray(0, magic.length).equals(Buffer.from(magic, 'latin1'));
}

/** A vmdk may be a text that names the files with the data: with its title, or with comments before `version=`. */
function isVmdkDescriptor(text: string): boolean {
  return (
    /^# Disk DescriptorFile/i.test(text) || /^(?:#[^\n]*\n| +\r?\n)*version=[123]\r?\n/.test(text)
  );
}
