import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { verifyDisk } from '../../../src/mounter/disk/verify-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { refusalOf, verifyFile } from './disk-image.ts';
import { type Qcow2Fields, qcow2Image } from './qcow2-image.ts';

const featureNames = 0x6803f857;
const bitmaps = 0x23852875;
const encryptionHeader = 0x0537be77;
const dataFile = 0x44415441;
const backingFormat = 0xe2792aca;
const unknownExtension = 0x12345678;

/** An entry of the feature name table. */
function feature(kind: number, bit: number, name: string): Buffer {
  const entry = Buffer.alloc(48);
  entry.set([kind, bit]);
  entry.write(name, 2);
  return entry;
}

function bitmapsExtension(count: number, reserved: number, size: bigint, offset: bigint): Buffer {
  const data = Buffer.alloc(24);
  data.writeUInt32BE(count, 0);
  data.writeUInt32BE(reserved, 4);
  data.writeBigUInt64BE(size, 8);
  data.writeBigUInt64BE(offset, 16);
  return data;
}

const accepted: [what: string, fields: Qcow2Fields, disk: object][] = [
  ['version 3', {}, { version: 3, virtualSize: 2 ** 30, clusterSize: 65536, compression: 'zlib' }],
  ['version 2', { version: 2 }, { version: 2, refcountBits: 16 }],
  ['the shortest header', { headerLength: 104 }, { version: 3 }],
  ['a longer header', { headerLength: 120 }, { version: 3 }],
  ['the smallest clusters', { clusterBits: 9, size: 512n, l1Size: 1 }, { clusterSize: 512 }],
  ['the largest clusters', { clusterBits: 21 }, { clusterSize: 2 ** 21 }],
  ['zstd', { incompatibleFeatures: 8n, compressionType: 1 }, { compression: 'zstd' }],
  ['extended L2', { incompatibleFeatures: 16n, l1Size: 4 }, { extendedL2: true }],
  [
    'dirty',
    { incompatibleFeatures: 1n, compatibleFeatures: 1n },
    { dirty: true, lazyRefcounts: true },
  ],
  ['unknown compatible features', { compatibleFeatures: ~0n & (2n ** 64n - 1n) }, { version: 3 }],
  ['unknown autoclear features', { autoclearFeatures: 2n ** 63n }, { version: 3 }],
  ['an unknown extension', { extensions: [[unknownExtension, Buffer.alloc(13)]] }, { version: 3 }],
  ['a size that is no whole sector', { size: 2n ** 30n - 1n }, { virtualSize: 2 ** 30 - 512 }],
  ['an L1 table that is larger than needed', { l1Size: 8 }, { version: 3 }],
  [
    'the format of a backing file that is gone',
    { extensions: [[backingFormat, Buffer.from('raw')]] },
    {},
  ],
  [
    'bitmaps that are out of date',
    { extensions: [[bitmaps, bitmapsExtension(1, 0, 32n, 2n ** 40n)]] },
    { bitmaps: 1 },
  ],
  [
    'the names of features that it does not have',
    { extensions: [[featureNames, feature(0, 5, 'future')]] },
    { version: 3 },
  ],
];

const refused: [what: string, fields: Qcow2Fields, code: string, message: RegExp][] = [
  ['version 0', { version: 0 }, 'EVERSION', /of version 0, where only 2 and 3 are known/],
  ['version 9', { version: 9 }, 'EVERSION', /of version 9,/],
  ['the largest version', { version: 2 ** 32 - 1 }, 'EVERSION', /of version 4294967295,/],
  ['clusters too small', { clusterBits: 8 }, 'EMALFORMED', /2\^8 bytes, where 9 to 21/],
  ['clusters too large', { clusterBits: 22 }, 'EMALFORMED', /2\^22 bytes/],
  ['clusters beyond numbers', { clusterBits: 2 ** 32 - 1 }, 'EMALFORMED', /2\^4294967295 bytes/],
  [
    'a backing file',
    { backingFileOffset: 300n, backingFileSize: 5 },
    'EBACKINGFILE',
    /a backing file, "/,
  ],
  [
    'of version 2',
    { version: 2, backingFileOffset: 300n, backingFileSize: 5 },
    'EBACKINGFILE',
    /./,
  ],
  [
    'a backing file beyond the end',
    { backingFileOffset: 2n ** 64n - 1n, backingFileSize: 2 ** 32 - 1 },
    'EBACKINGFILE',
    /it has a backing file, which could be/,
  ],
  ['AES', { cryptMethod: 1 }, 'EENCRYPTED', /it is encrypted/],
  ['LUKS', { cryptMethod: 2, version: 2 }, 'EENCRYPTED', /it is encrypted/],
  ['an unknown encryption', { cryptMethod: 77 }, 'EENCRYPTED', /it is encrypted/],
  [
    'a header of encryption alone',
    { extensions: [[encryptionHeader, Buffer.alloc(16)]] },
    'EENCRYPTED',
    /it is encrypted/,
  ],
  ['a data file by its bit', { incompatibleFeatures: 4n }, 'EDATAFILE', /in another file, which/],
  [
    'a data file by its name',
    { extensions: [[dataFile, Buffer.from('/etc/\nshadow')]] },
    'EDATAFILE',
    /in another file, "\/etc\/\\u\{a\}shadow", which/,
  ],
  [
    'unknown features',
    { incompatibleFeatures: (2n ** 63n) | (2n ** 5n) | 1n },
    'EFEATURE',
    /not known here: bit 5, bit 63\. Write/,
  ],
  [
    'unknown features with names',
    {
      incompatibleFeatures: (2n ** 62n) | (2n ** 7n),
      extensions: [
        [
          featureNames,
          Buffer.concat([
            feature(1, 7, 'compatible one'),
            feature(0, 7, 'seventh\u001b'),
            feature(0, 62, 'x'.repeat(46)),
            Buffer.from([0]),
          ]),
        ],
      ],
    },
    'EFEATURE',
    /here: bit 7 \("seventh\\u\{1b\}"\), bit 62 \("x{46}"\)\./,
  ],
  ['corrupt', { incompatibleFeatures: 2n }, 'ECORRUPT', /marked as corrupt.*qemu-img check -r all/],
  [
    'compression without its bit',
    { compressionType: 1 },
    'EMALFORMED',
    /zstd, and the feature bit for it is not set/,
  ],
  [
    'the bit without compression',
    { incompatibleFeatures: 8n },
    'EMALFORMED',
    /zlib, and the feature bit for it is set/,
  ],
  [
    'the bit and a header too short for the compression',
    { incompatibleFeatures: 8n, headerLength: 104, compressionType: 1 },
    'EMALFORMED',
    /zlib, and the feature bit/,
  ],
  [
    'an unknown compression',
    { incompatibleFeatures: 8n, compressionType: 2 },
    'EFEATURE',
    /type 2/,
  ],
  [
    'extended L2 of small clusters',
    { incompatibleFeatures: 16n, clusterBits: 13 },
    'EMALFORMED',
    /8192 bytes, where 16384/,
  ],
  ['reference counts too wide', { refcountOrder: 7 }, 'EMALFORMED', /2\^7 bits/],
  ['a header too short', { headerLength: 96 }, 'EMALFORMED', /its header has 96 bytes/],
  [
    'a header that is no multiple of 8',
    { headerLength: 108 },
    'EMALFORMED',
    /its header has 108 bytes/,
  ],
  [
    'a header beyond its cluster',
    { headerLength: 65544 },
    'EMALFORMED',
    /its header has 65544 bytes/,
  ],
  ['no size', { size: 0n }, 'EEMPTY', /virtual size is 0 bytes/],
  ['less than a sector', { size: 511n }, 'EEMPTY', /virtual size is 511 bytes/],
  [
    '8 PiB',
    { size: 2n ** 53n, clusterBits: 21, l1Size: 16384 },
    'ETOOLARGE',
    /9007199254740992 bytes/,
  ],
  ['the largest size', { size: 2n ** 64n - 1n }, 'ETOOLARGE', /18446744073709551615 bytes/],
  [
    'the largest signed size',
    { size: 2n ** 63n - 1n, clusterBits: 21 },
    'ETOOLARGE',
    /virtual size/,
  ],
  [
    'an L1 table too small',
    { size: 2n ** 30n + 1n },
    'EMALFORMED',
    /has 2 entries, where its size of 1073741825 bytes needs 3/,
  ],
  [
    'an L1 table too small for extended L2',
    { incompatibleFeatures: 16n, l1Size: 3 },
    'EMALFORMED',
    /needs 4/,
  ],
  ['an L1 table too large', { l1Size: 2 ** 22 + 1 }, 'ETOOLARGE', /L1 table has 33554440 bytes/],
  [
    'an L1 table of the largest size',
    { l1Size: 2 ** 32 - 1 },
    'ETOOLARGE',
    /L1 table has 34359738360/,
  ],
  [
    'an L1 table inside a cluster',
    { l1TableOffset: 65537n },
    'EMALFORMED',
    /L1 table is at byte 65537/,
  ],
  ['an L1 table in the header', { l1TableOffset: 0n }, 'EMALFORMED', /L1 table is at byte 0/],
  [
    'an L1 table behind the end',
    { l1TableOffset: 4n * 65536n },
    'ETRUNCATED',
    /L1 table ends at byte 262160, and the file after 262144/,
  ],
  [
    'an L1 table beyond numbers',
    { l1TableOffset: 2n ** 64n - 65536n },
    'EMALFORMED',
    /L1 table is at byte/,
  ],
  ['no reference counts', { refcountTableClusters: 0 }, 'EMALFORMED', /no reference count table/],
  [
    'a reference count table too large',
    { refcountTableClusters: 129 },
    'ETOOLARGE',
    /reference count table/,
  ],
  [
    'a reference count table beyond numbers',
    { refcountTableClusters: 2 ** 32 - 1 },
    'ETOOLARGE',
    /reference count table/,
  ],
  [
    'a reference count table behind the end',
    { refcountTableClusters: 4 },
    'ETRUNCATED',
    /reference count table ends/,
  ],
  [
    'a reference count table inside a cluster',
    { refcountTableOffset: 8n },
    'EMALFORMED',
    /at byte 8/,
  ],
  ['too many snapshots', { nbSnapshots: 65537 }, 'ETOOLARGE', /snapshot table/],
  [
    'snapshots behind the end',
    { nbSnapshots: 1, snapshotsOffset: 2n ** 40n },
    'ETRUNCATED',
    /snapshot table/,
  ],
  [
    'snapshots inside a cluster',
    { snapshotsOffset: 1n },
    'EMALFORMED',
    /snapshot table is at byte 1/,
  ],
  [
    'an extension that does not fit',
    {
      extensions: [
        [unknownExtension, Buffer.alloc(8)],
        [unknownExtension, Buffer.alloc(65536 - 112 - 16 - 7)],
      ],
    },
    'EMALFORMED',
    /extension of 65401 bytes does not fit/,
  ],
  [
    'too many extensions',
    { extensions: Array.from({ length: 65 }, () => [unknownExtension, Buffer.alloc(0)] as const) },
    'EMALFORMED',
    /more than 64 header extensions/,
  ],
  [
    'a bitmaps extension cut short',
    { extensions: [[bitmaps, Buffer.alloc(23)]] },
    'EMALFORMED',
    /23 bytes/,
  ],
  ...(
    [
      ['no bitmaps', bitmapsExtension(0, 0, 32n, 65536n), 'EMALFORMED'],
      ['too many bitmaps', bitmapsExtension(65536, 0, 32n, 65536n), 'EMALFORMED'],
      ['reserved bits', bitmapsExtension(1, 1, 32n, 65536n), 'EMALFORMED'],
      ['a bitmap directory inside a cluster', bitmapsExtension(1, 0, 32n, 65537n), 'EMALFORMED'],
      ['a bitmap directory too large', bitmapsExtension(1, 0, 2n ** 63n, 65536n), 'ETOOLARGE'],
      ['a bitmap directory behind the end', bitmapsExtension(1, 0, 32n, 2n ** 40n), 'ETRUNCATED'],
    ] as const
  ).map(([what, data, code]): [string, Qcow2Fields, string, RegExp] => [
    what,
    { autoclearFeatures: 1n, extensions: [[bitmaps, data]] },
    code,
    /bitmap/,
  ]),
];

t.test('qcow2', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  for (const [what, fields, disk] of accepted) {
    writeFileSync(path, qcow2Image(fields));
    t.match(verifyFile(path), { format: 'qcow2', ...disk }, what);
  }
  for (const [what, fields, code, message] of refused) {
    const error = refusalOf(path, qcow2Image(fields));
    t.match(error, { code, path, message }, what);
    t.match(error?.message, /^the disk \/.* is refused: [^\p{Cc}]+$/u, what);
  }
});

t.test('cut short at every byte that matters', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  const image = qcow2Image({ extensions: [[unknownExtension, Buffer.alloc(40)]] });
  const used = 3 * 65536 + 16;
  writeFileSync(path, image.subarray(0, used));
  t.match(verifyFile(path), { format: 'qcow2' }, 'nothing is behind the L1 table');
  for (const length of [
    4,
    7,
    8,
    71,
    72,
    103,
    104,
    112,
    119,
    127,
    159,
    512,
    65536,
    131071,
    used - 1,
  ]) {
    t.match(refusalOf(path, image.subarray(0, length)), { code: 'ETRUNCATED' }, `${length} bytes`);
  }
  t.match(refusalOf(path, Buffer.from('QFI')), undefined, 'three bytes of the magic are raw');
});

t.test('files that are no disk', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'disk');
  t.match(refusalOf(path, Buffer.alloc(0)), { code: 'EEMPTY', message: /it is an empty file/ });
  t.match(refusalOf(directory), { code: 'ENOTFILE' }, 'a directory');
  t.match(refusalOf('/dev/null'), { code: 'ENOTFILE' }, 'a device');
  spawnSync('mkfifo', [`${path}.fifo`]);
  const fd = openSync(`${path}.fifo`, 'r+');
  t.teardown(() => closeSync(fd));
  t.throws(
    () => verifyDisk(fd, 'the pipe'),
    { code: 'ENOTFILE', path: 'the pipe' },
    'a pipe, without waiting',
  );
});

t.test('the path of the caller is in the message, and is one line of text', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'disk');
  writeFileSync(path, '');
  const fd = openSync(path, 'r');
  t.teardown(() => closeSync(fd));
  t.throws(() => verifyDisk(fd, 'a\nb\u001b[2J'), {
    message: 'the disk a\\u{a}b\\u{1b}[2J is refused: it is an empty file',
    path: 'a\nb\u001b[2J',
  });
  symlinkSync(path, join(directory, 'link'));
  t.match(refusalOf(join(directory, 'link')), { path: join(directory, 'link') });
});

t.test('the descriptor stays open and its offset where it is', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  writeFileSync(path, qcow2Image());
  const fd = openSync(path, 'r');
  t.teardown(() => closeSync(fd));
  readSync(fd, Buffer.alloc(4));
  verifyDisk(fd, path);
  const next = Buffer.alloc(4);
  readSync(fd, next);
  t.equal(next.readUInt32BE(0), 3, 'the version is what follows the magic');
});

t.test('a disk larger than the file system could fill', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  writeFileSync(path, 'x');
  truncateSync(path, 2 ** 42 + 1);
  const disk = verifyFile(path);
  t.match(disk, { format: 'raw', virtualSize: 2 ** 42 + 512, fileSize: 2 ** 42 + 1 });
  t.ok(disk.allocatedSize < 2 ** 20, 'holes take nothing');
});
