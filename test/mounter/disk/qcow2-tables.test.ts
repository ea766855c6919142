import { join } from 'node:path';
import t from 'tap';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { refusalOf } from './disk-image.ts';
import { bitmapsExtension, extension, type Qcow2Fields, qcow2Image } from './qcow2-image.ts';

const refused: [what: string, fields: Qcow2Fields, code: string, message: RegExp][] = [
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
  ['an L1 table of the largest allowed size', { l1Size: 2 ** 22 }, 'ETRUNCATED', /L1 table ends/],
  [
    'a reference count table of the largest allowed size',
    { refcountTableClusters: 128 },
    'ETRUNCATED',
    /reference/,
  ],
  [
    'as many snapshots as there can be',
    { nbSnapshots: 65536, snapshotsOffset: 65536n },
    'ETRUNCATED',
    /snapshot/,
  ],
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
        [extension.unknown, Buffer.alloc(8)],
        [extension.unknown, Buffer.alloc(65536 - 112 - 16 - 7)],
      ],
    },
    'EMALFORMED',
    /extension of 65401 bytes does not fit/,
  ],
  [
    'too many extensions',
    { extensions: Array.from({ length: 65 }, () => [extension.unknown, Buffer.alloc(0)] as const) },
    'EMALFORMED',
    /more than 64 header extensions/,
  ],
  [
    'a bitmaps extension cut short',
    { extensions: [[extension.bitmaps, Buffer.alloc(23)]] },
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
    { autoclearFeatures: 1n, extensions: [[extension.bitmaps, data]] },
    code,
    /bitmap/,
  ]),
];

t.test('qcow2 that is refused by the places and sizes of its tables', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  for (const [what, fields, code, message] of refused) {
    const error = refusalOf(path, qcow2Image(fields));
    t.match(error, { code, path, message }, what);
    t.match(error?.message, /^the disk \/.* is refused: [^\p{Cc}]+$/u, what);
  }
});
