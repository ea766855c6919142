import { opendirSync, readlinkSync } from 'node:fs';
import type { ProcessHandle } from './process-handle.ts';
import { hasCode } from './syscall-error.ts';

/** `__SO_ACCEPTCON` of linux/net.h, in the column `Flags` of proc_net_unix(5): somebody has called listen(2). */
const ACCEPTCON = 0x10000;

/** Whether a process has a UNIX socket open that listens. */
export function holdsListeningSocket(process: ProcessHandle): boolean {
  const inodes = listeningSockets(process.read('net/unix').toString('latin1'));
  const descriptors = opendirSync(process.path('fd'));
  try {
    for (let entry = descriptors.readSync(); entry; entry = descriptors.readSync()) {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(process.path(`fd/${entry.name}`))) ?? [];
      if (inode !== undefined && inodes.has(inode)) return true;
    }
    return false;
  } finally {
    descriptors.closeSync();
  }
}

/** Inodes of the sockets of a network namespace that listen. Fields: Num RefCount Protocol Flags Type St Inode Path. */
function listeningSockets(table: string): Set<string> {
  const inodes = new Set<string>();
  for (const line of table.split('\n')) {
    const [, , , flags, , , inode] = line.trim().split(/ +/);
    if (inode !== undefined && Number.parseInt(flags ?? '', 16) & ACCEPTCON) inodes.add(inode);
  }
  return inodes;
}

/** A descriptor may be closed in between. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  }
}
