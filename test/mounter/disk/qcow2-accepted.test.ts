import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { refusalOf, verifyFile } from './disk-image.ts';
import {
  bitmapsExtension,
  extension,
  feature,
  type Qcow2Fields,
  qcow2Image,
} from './qcow2-image.ts';

const accepted: [what: string, fields: Qcow2Fields, disk: object][] = [
  ['version 3', {}, { version: 3, virtualSize: 2 ** 30, clusterSize: 65536, compression: 'zlib' }],
  ['version 2', { version: 2 }, { version: 2, refcountBits: 16 }],
  ['the shortest header', { headerLength: 104 }, { version: 3 }],
  [
    'a header that fills its cluster',
    { headerLength: 512, clusterBits: 9, size: 512n, l1Size: 1 },
    {},
  ],
  [
    'as many bitmaps as there can be',
    {
      autoclearFeatures: 1n,
      extensions: [[extension.bitmaps, bitmapsExtension(65_535, 0, 32n, 65536n)]],
    },
    { bitmaps: 65_535 },
  ],
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
  ['an unknown extension', { extensions: [[extension.unknown, Buffer.alloc(13)]] }, { version: 3 }],
  ['a size that is no whole sector', { size: 2n ** 30n - 1n }, { virtualSize: 2 ** 30 - 512 }],
  ['an L1 table that is larger than needed', { l1Size: 8 }, { version: 3 }],
  [
    'the format of a backing file that is gone',
    { extensions: [[extension.backingFormat, Buffer.from('raw')]] },
    {},
  ],
  [
    'bitmaps that are out of date',
    { extensions: [[extension.bitmaps, bitmapsExtension(1, 0, 32n, 2n ** 40n)]] },
    { bitmaps: 1 },
  ],
  [
    'the names of features that it does not have',
    { extensions: [[extension.featureNames, feature(0, 5, 'future')]] },
    { version: 3 },
  ],
];

t.test('qcow2 that is accepted', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  for (const [what, fields, disk] of accepted) {
    writeFileSync(path, qcow2Image(fields));
    t.match(verifyFile(path), { format: 'qcow2', ...disk }, what);
  }
});

t.test('cut short at every byte that matters', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  const image = qcow2Image({ extensions: [[extension.unknown, Buffer.alloc(40)]] });
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
