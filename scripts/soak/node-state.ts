import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';

/** What has to be the same before and after: lists of lines, by what they are of. */
export type NodeState = Readonly<Record<string, readonly string[]>>;

/**
 * @param root of the node's directories, to tell its mounts and loop devices from others
 * @param stateDirectory of the mounter
 */
export function nodeState(
  root: string,
  stateDirectory: string,
  machines: readonly Machine[],
): NodeState {
  return {
    'mounts of the node': mountsBelow(root),
    'files in the pods': machines.flatMap(({ disks, hotplugged }) =>
      [disks, hotplugged].flatMap((directory) =>
        filesBelow(directory).map((name) => join(directory, name)),
      ),
    ),
    'rules of device cgroups': machines.map(({ uid, rules }) => `${uid} ${rules()}`),
    'records and locks': existsSync(stateDirectory) ? filesBelow(stateDirectory) : [],
    'loop devices': execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], {
      encoding: 'utf8',
    })
      .split('\n')
      .filter((file) => file.startsWith(root)),
  };
}

/** Mount points with what is mounted there; ids are new for every mount. */
function mountsBelow(root: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.split(' ')[4]?.startsWith(`${root}/`))
    .map((line) => line.replace(/^\d+ \d+ /, ''))
    .sort();
}

/** A socket that is still held has no other name than before. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
}

/** What of each kind was not there before, or is missing now. */
export function differences(before: NodeState, after: NodeState): string[] {
  return Object.keys(before).flatMap((kind) => {
    const [was, is] = [new Set(before[kind]), new Set(after[kind])];
    return [
      ...[...is].filter((line) => !was.has(line)).map((line) => `${kind}: ${line} is left`),
      ...[...was].filter((line) => !is.has(line)).map((line) => `${kind}: ${line} is missing`),
    ];
  });
}
