import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { skipUnless } from '../../support/requirements.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verifyFile } from './disk-image.ts';
import { imageInfo, qemuImg } from './qemu-img.ts';

const options: [size: string, ...argv: string[]][] = [
  ['1M'],
  ['512', '-o', 'compat=0.10'],
  ['10G', '-o', 'compat=0.10'],
  ['1000'],
  ['1T'],
  ['7P', '-o', 'cluster_size=2M'],
  ['3G', '-o', 'lazy_refcounts=on'],
  ...['512', '1k', '4k', '16k', '128k', '2M'].map((size): [string, ...string[]] => [
    '300M',
    '-o',
    `cluster_size=${size}`,
  ]),
  ...[1, 2, 4, 8, 32, 64].map((bits): [string, ...string[]] => [
    '1G',
    '-o',
    `refcount_bits=${bits}`,
  ]),
  ['1G', '-o', 'compression_type=zstd'],
  ['1G', '-o', 'extended_l2=on'],
  ['1G', '-o', 'extended_l2=on,cluster_size=16k,compression_type=zstd,lazy_refcounts=on'],
  ['127G', '-o', 'extended_l2=on,cluster_size=16k'],
  ['100M', '-o', 'preallocation=metadata'],
  ['4M', '-o', 'preallocation=falloc'],
  ['4M', '-o', 'preallocation=full'],
  ['127G', '-o', 'cluster_size=512'],
];

/** Everything that both say about it. */
function sameAsQemu(t: Test, path: string, what: string) {
  const info = imageInfo(path);
  const data = info?.['format-specific']?.data;
  const disk = verifyFile(path);
  t.match(disk, { format: info?.format, virtualSize: info?.['virtual-size'] }, what);
  t.equal(disk.fileSize, statSync(path).size, `${what}: size of the file`);
  t.equal(disk.allocatedSize, info?.['actual-size'], `${what}: what it takes`);
  if (disk.format !== 'qcow2') return;
  t.strictSame(
    {
      clusterSize: disk.clusterSize,
      compat: disk.version === 2 ? '0.10' : '1.1',
      compression: disk.compression,
      refcountBits: disk.refcountBits,
      lazyRefcounts: disk.lazyRefcounts,
      extendedL2: disk.extendedL2,
      snapshots: disk.snapshots,
      bitmaps: disk.bitmaps,
    },
    {
      clusterSize: info?.['cluster-size'],
      compat: data?.compat,
      compression: data?.['compression-type'],
      refcountBits: data?.['refcount-bits'],
      lazyRefcounts: data?.['lazy-refcounts'] ?? false,
      extendedL2: data?.['extended-l2'] ?? false,
      snapshots: info?.snapshots?.length ?? 0,
      bitmaps: data?.bitmaps?.length ?? 0,
    },
    what,
  );
}

t.test('images of qemu-img', { skip: skipUnless('qemu-img') }, async (t) => {
  t.test('created with many options', async (t) => {
    const path = join(temporaryDirectory(t), 'disk');
    for (const [size, ...argv] of options) {
      qemuImg('create', '-q', '-f', 'qcow2', ...argv, path, size);
      sameAsQemu(t, path, [size, ...argv].join(' '));
    }
  });

  t.test('converted, with data in them', async (t) => {
    const directory = temporaryDirectory(t);
    const raw = join(directory, 'raw');
    const path = join(directory, 'disk');
    writeFileSync(raw, Buffer.alloc(300_000, 'data of the guest '));
    truncateSync(raw, 50 * 1024 * 1024);
    for (const argv of [
      [],
      ['-c'],
      ['-c', '-o', 'compression_type=zstd'],
      ['-o', 'compat=0.10'],
      ['-S', '0'],
      ['-o', 'cluster_size=512'],
      ['-o', 'extended_l2=on'],
      ['-W', '-m', '4'],
    ]) {
      qemuImg('convert', '-q', '-f', 'raw', '-O', 'qcow2', ...argv, raw, path);
      sameAsQemu(t, path, `convert ${argv.join(' ')}`);
    }
  });

  t.test('changed afterwards', async (t) => {
    const path = join(temporaryDirectory(t), 'disk');
    qemuImg('create', '-q', '-f', 'qcow2', path, '1G');
    const steps = [
      ['snapshot', '-c', 'first', path],
      ['snapshot', '-c', 'second', path],
      ['bitmap', '--add', path, 'b0'],
      ['bitmap', '--add', path, 'b1'],
      ['snapshot', '-d', 'first', path],
      ['resize', '-q', path, '3T'],
      ['amend', '-q', '-f', 'qcow2', '-o', 'lazy_refcounts=on', path],
    ];
    for (const step of steps) {
      qemuImg(...step);
      sameAsQemu(t, path, step.join(' '));
    }
  });

  t.test('raw, of sizes that are not whole sectors', async (t) => {
    const path = join(temporaryDirectory(t), 'disk');
    for (const size of [1, 511, 512, 513, 1000, 4096, 1_000_001]) {
      writeFileSync(path, Buffer.alloc(size, 1));
      sameAsQemu(t, path, `${size} bytes`);
    }
  });

  t.test('that need something else', async (t) => {
    const directory = temporaryDirectory(t);
    const path = join(directory, 'disk');
    const base = join(directory, 'base \u001b[31m.raw');
    writeFileSync(base, Buffer.alloc(1024 * 1024));
    const secret = ['--object', 'secret,id=s,data=x'];
    const images: [code: string, message: RegExp, argv: string[]][] = [
      [
        'EBACKINGFILE',
        /it has a backing file, ".*base \\u\{1b\}\[31m\.raw"/,
        ['-b', base, '-F', 'raw'],
      ],
      ['EBACKINGFILE', /base/, ['-b', base, '-F', 'raw', '-o', 'compat=0.10']],
      [
        'EDATAFILE',
        /its data are in another file, ".*\/data\.raw"/,
        ['-o', `data_file=${join(directory, 'data.raw')}`],
      ],
      [
        'EDATAFILE',
        /its data are in another file/,
        ['-o', `data_file=${join(directory, 'data.raw')},data_file_raw=on`],
      ],
      [
        'EENCRYPTED',
        /it is encrypted/,
        [...secret, '-o', 'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10'],
      ],
      [
        'EENCRYPTED',
        /it is encrypted/,
        [...secret, '-o', 'encrypt.format=aes,encrypt.key-secret=s'],
      ],
    ];
    for (const [code, message, argv] of images) {
      qemuImg('create', '-q', '-f', 'qcow2', ...argv, path, '1M');
      t.throws(() => verifyFile(path), { name: 'DiskRefusedError', code, message }, argv.join(' '));
    }
    qemuImg('create', '-q', '-f', 'qcow2', '-b', base, '-F', 'raw', path);
    qemuImg('rebase', '-q', '-u', '-b', '', path);
    sameAsQemu(t, path, 'a backing file that was taken away');
  });

  t.test('of other formats', async (t) => {
    const directory = temporaryDirectory(t);
    const path = join(directory, 'disk');
    const luks = ['--object', 'secret,id=s,data=x', '-o', 'key-secret=s,iter-time=10'];
    const images: [format: string, argv: string[]][] = [
      ['qcow', []],
      ['vmdk', []],
      ['vmdk', ['-o', 'subformat=streamOptimized']],
      ['vmdk', ['-o', 'subformat=monolithicFlat']],
      ['vmdk', ['-o', 'subformat=twoGbMaxExtentSparse']],
      ['vdi', []],
      ['vdi', ['-o', 'static=on']],
      ['vhdx', []],
      ['vpc', []],
      ['vpc', ['-o', 'subformat=fixed']],
      ['qed', []],
      ['luks', luks],
      ['parallels', []],
    ];
    for (const [format, argv] of images) {
      qemuImg('create', '-q', '-f', format, ...argv, path, '4M');
      const what = [format, ...argv].join(' ');
      t.throws(
        () => verifyFile(path),
        {
          name: 'DiskRefusedError',
          code: 'EFORMAT',
          message: `the disk ${path} is refused: its format is ${format}, where qcow2 and raw are possible. Convert it: qemu-img convert -f ${format} -O qcow2 OLD NEW`,
        },
        what,
      );
      t.match(
        verifyFile(path, {
          allowFormats: ['vdi', 'vhdx', 'vmdk', 'vpc', 'qed', 'qcow', 'luks', 'parallels'],
        }),
        { format, virtualSize: undefined, fileSize: readFileSync(path).length },
        `${what}, allowed`,
      );
    }
  });
});
