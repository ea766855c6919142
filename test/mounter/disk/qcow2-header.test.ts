import { join } from 'node:path';
import t from 'tap';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { refusalOf } from './disk-image.ts';
import { extension, feature, type Qcow2Fields, qcow2Image } from './qcow2-image.ts';

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
    { extensions: [[extension.encryptionHeader, Buffer.alloc(16)]] },
    'EENCRYPTED',
    /it is encrypted/,
  ],
  ['a data file by its bit', { incompatibleFeatures: 4n }, 'EDATAFILE', /in another file, which/],
  [
    'a data file by its name',
    { extensions: [[extension.dataFile, Buffer.from('/etc/\nshadow')]] },
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
          extension.featureNames,
          Buffer.concat([
            feature(0, 7, 'seventh\u001b'),
            feature(0, 62, 'x'.repeat(46)),
            feature(1, 7, 'another kind'),
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
];

t.test('qcow2 that is refused by what its header says', async (t) => {
  const path = join(temporaryDirectory(t), 'disk');
  for (const [what, fields, code, message] of refused) {
    const error = refusalOf(path, qcow2Image(fields));
    t.match(error, { code, path, message }, what);
    t.match(error?.message, /^the disk \/.* is refused: [^\p{Cc}]+$/u, what);
  }
});
