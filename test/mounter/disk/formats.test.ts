import { join } from 'node:path';
import t from 'tap';
import type { OtherFormat } from '../../../src/mounter/disk/other-format.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { refusalOf, verifyFile } from './disk-image.ts';
import { qcow2Image } from './qcow2-image.ts';

const mebibyte = 1024 * 1024;

/** A disk of zeros with these bytes at these places; from its end where the place is negative. */
function diskWith(...parts: [position: number, bytes: string][]): Buffer {
  const disk = Buffer.alloc(mebibyte);
  for (const [position, bytes] of parts) {
    disk.write(bytes, position < 0 ? disk.length + position : position, 'latin1');
  }
  return disk;
}

const magics: [format: OtherFormat, disk: Buffer][] = [
  ['qcow', diskWith([0, 'QFI\xfb\0\0\0\x01'])],
  ['vmdk', diskWith([0, 'KDMV'])],
  ['vmdk', diskWith([0, 'COWD'])],
  ['vmdk', Buffer.from('# Disk DescriptorFile\nversion=1\nRW 8192 FLAT "/etc/shadow" 0\n')],
  ['vmdk', Buffer.from('# anything\n   \n#\nversion=1\nRW 8192 FLAT "/etc/shadow" 0\n')],
  ['vmdk', Buffer.from('version=3\r\nRW 8192 FLAT "/etc/shadow" 0\n')],
  ['vdi', diskWith([64, '\x7f\x10\xda\xbe'])],
  ['vhdx', diskWith([0, 'vhdxfile'])],
  ['vpc', diskWith([0, 'conectix'])],
  ['vpc', diskWith([-512, 'conectix'])],
  ['qed', diskWith([0, 'QED\0'])],
  ['luks', diskWith([0, 'LUKS\xba\xbe\0\x01'])],
  ['luks', diskWith([0, 'LUKS\xba\xbe\0\x02'])],
  ['parallels', diskWith([0, 'WithoutFreeSpace'])],
  ['parallels', diskWith([0, 'WithouFreSpacExt'])],
  ['bochs', diskWith([0, 'Bochs Virtual HD Image'])],
  [
    'cloop',
    diskWith([
      0,
      '#!/bin/sh\n#V2.0 Format\nmodprobe cloop file=$0 && mount -r -t iso9660 /dev/cloop $1\n',
    ]),
  ],
  ['dmg', diskWith([-512, 'koly'])],
];

t.test('formats that are not allowed, by name', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  for (const [format, disk] of magics) {
    t.match(
      refusalOf(path, disk),
      {
        code: 'EFORMAT',
        message: `the disk ${path} is refused: its format is ${format}, where qcow2 and raw are possible. Convert it: qemu-img convert -f ${format} -O qcow2 OLD NEW`,
      },
      format,
    );
    t.match(verifyFile(path, { allowFormats: [format] }), {
      format,
      virtualSize: undefined,
      fileSize: disk.length,
    });
    const others = magics.map(([other]) => other).filter((other) => other !== format);
    t.throws(() => verifyFile(path, { allowFormats: others }), { code: 'EFORMAT' });
  }
});

t.test('a file that begins as two formats is neither', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  const image = qcow2Image();
  image.write('\x7f\x10\xda\xbe', 64, 'latin1');
  t.match(refusalOf(path, image), { code: 'EFORMAT', message: /format is vdi/ });
});

t.test('the end of a qcow2 file belongs to the guest', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  const image = qcow2Image();
  image.write('conectix', image.length - 512);
  t.equal(refusalOf(path, image), undefined);
});

t.test('raw', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  const disks: [what: string, disk: Buffer, content: string | undefined][] = [
    ['zeros', diskWith(), undefined],
    ['one byte', Buffer.from('x'), undefined],
    ['three bytes of the magic of qcow2', Buffer.from('QFI'), undefined],
    ['an optical disk', diskWith([32769, 'CD001']), 'iso9660'],
    [
      'an optical disk that can also be a hard disk',
      diskWith([510, '\x55\xaa'], [32769, 'CD001']),
      'iso9660',
    ],
    ['a partition table', diskWith([510, '\x55\xaa']), 'mbr'],
    ['a new partition table', diskWith([510, '\x55\xaa'], [512, 'EFI PART']), 'gpt'],
    ['of sectors of 4096 bytes', diskWith([510, '\x55\xaa'], [4096, 'EFI PART']), 'gpt'],
    ['a text', Buffer.from('#!/bin/sh\necho hello\n'), undefined],
    ['a text with a version', Buffer.from('# a\nname=x\nversion=1\n'), undefined],
    ['a magic in the wrong place', diskWith([1, 'vhdxfile'], [-100, 'koly']), undefined],
    ['qcow2 inside', diskWith([512, 'QFI\xfb\0\0\0\x03']), undefined],
  ];
  for (const [what, disk, content] of disks) {
    t.equal(refusalOf(path, disk), undefined, what);
    t.match(
      verifyFile(path),
      { format: 'raw', content, virtualSize: Math.ceil(disk.length / 512) * 512 },
      what,
    );
  }
});
