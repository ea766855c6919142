import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CloudKernel, modulesOf } from '../../../support/cloud-kernel.ts';
import {
  characterDevice,
  directory,
  executable,
  newcArchive,
  regularFile,
} from './newc-archive.ts';

/** The PCI transport of virtio, its two kinds of disks, and SHA-256 for programs. */
const drivers = ['virtio_pci', 'virtio_blk', 'virtio_scsi', 'sd_mod', 'algif_hash'];

/**
 * The guest's whole user space: `init.cpp` and the drivers.
 *
 * @param scratch a directory for the compiler's output
 */
export function initramfs(kernel: CloudKernel, scratch: string): Buffer {
  const modules = modulesOf(kernel, drivers);
  const list = modules.map(({ name }) => `${name}\n`).join('');
  return newcArchive([
    { path: 'init', mode: executable, content: compiledInit(scratch) },
    { path: 'dev', mode: directory },
    { path: 'dev/console', mode: characterDevice, device: [5, 1] },
    { path: 'modules', mode: directory },
    { path: 'modules/list', mode: regularFile, content: Buffer.from(list) },
    ...modules.map(({ name, content }) => ({
      path: `modules/${name}`,
      mode: regularFile,
      content,
    })),
  ]);
}

function compiledInit(scratch: string): Buffer {
  const output = join(scratch, 'init');
  const source = join(import.meta.dirname, 'init.cpp');
  execFileSync('g++', [
    '-std=c++17',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-Os',
    '-static',
    '-s',
    '-o',
    output,
    source,
  ]);
  return readFileSync(output);
}
