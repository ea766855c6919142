import type { ChecksumReport } from '../checksums.ts';
import type { Disk } from '../disk/disk.ts';
import type { SocketReport } from '../inspect.ts';
import type { Listing } from '../list.ts';
import type { MountReport } from '../prepared.ts';
import type { ReadyReport } from '../ready.ts';
import type { UnmountReport } from '../unmount-virtual-machine.ts';
import { byteSize } from './byte-size.ts';
import { table } from './table.ts';

export function mountTable(reports: readonly MountReport[]): string {
  return table(
    ['VOLUME', 'OUTCOME', 'SOURCE', 'PID', 'FORMAT', 'VIRTUAL SIZE', 'TARGET'],
    reports.map((report) => {
      if (report.outcome === 'failed') return [report.volume, report.outcome, '', '', '', '', ''];
      const { volume, outcome, source, pid, target, disk } = report;
      return [volume, outcome, source, String(pid), ...diskCells(disk), target];
    }),
  );
}

export function unmountTable(reports: readonly UnmountReport[]): string {
  return table(
    ['VOLUME', 'OUTCOME', 'TARGET'],
    reports.map(({ volume, outcome, target }) => [volume, outcome, target]),
  );
}

export function readyTable(reports: readonly ReadyReport[]): string {
  return table(
    ['VOLUME', 'READY', 'PID', 'SOCKET', 'REASON'],
    reports.map(({ volume, ready, pid, socket, reason }) => [
      volume,
      ready ? 'yes' : 'no',
      pid === undefined ? '' : String(pid),
      socket ?? '',
      reason ?? '',
    ]),
  );
}

export function checksumTable(reports: readonly ChecksumReport[]): string {
  return table(
    ['VOLUME', 'CHECKSUM', 'IN STATUS', 'RESULT'],
    reports.map(({ volume, checksum, expected, error }) => [
      volume,
      String(checksum ?? ''),
      String(expected ?? ''),
      error ? 'failed' : expected === undefined ? 'nothing to compare' : 'same',
    ]),
  );
}

export function listTable({ sockets, hotplugged }: Listing): string {
  const first = table(
    ['POD', 'VOLUME', 'PID', 'DISK', 'FORMAT', 'VIRTUAL SIZE', 'IMAGE ROOT', 'MOUNTED AT'],
    sockets.map((socket) => [socket.pod, socket.volume, ...socketCells(socket)]),
  );
  if (hotplugged.length === 0) return first;
  const second = table(
    ['POD', 'HOTPLUGGED', 'TYPE', 'DEVICE', 'RULE', 'TARGET'],
    hotplugged.map(({ pod, volume, type, device, rule, target }) => [
      pod,
      volume,
      type,
      device ?? '',
      rule ?? '',
      target,
    ]),
  );
  return `${first}\n${second}`;
}

export function socketTable(report: SocketReport): string {
  return table(
    ['SOCKET', 'PID', 'DISK', 'FORMAT', 'VIRTUAL SIZE', 'IMAGE ROOT', 'MOUNTED AT'],
    [[report.socket, ...socketCells(report)]],
  );
}

function socketCells({ pid, path, disk, imageRoot, mountedAt, reason }: SocketReport): string[] {
  return [
    pid === undefined ? '' : String(pid),
    path ?? '',
    ...diskCells(disk),
    imageRoot ?? '',
    mountedAt.length === 0 && reason !== undefined ? reason : mountedAt.join(' '),
  ];
}

function diskCells(disk: Disk | undefined): [format: string, virtualSize: string] {
  return [disk?.format ?? '', byteSize(disk?.virtualSize)];
}
