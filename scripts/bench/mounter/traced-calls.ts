import { readFileSync } from 'node:fs';

/** Options of strace(1) that {@link tracedCalls} understands the output of. */
export function straceCommand(output: string): string[] {
  return ['strace', '-f', '-qq', '-o', output];
}

/** System calls of a trace: all, or those between the last two marks of a name, which are files that are asked for. */
export function tracedCalls(file: string, mark?: string): string[] {
  const lines = readFileSync(file, 'latin1').split('\n');
  const first =
    mark === undefined ? -1 : lines.findLastIndex((line) => isMark(line, mark, 'begin'));
  const last =
    mark === undefined ? lines.length : lines.findLastIndex((line) => isMark(line, mark, 'end'));
  if (mark !== undefined && (first < 0 || last < first)) throw new Error(`no ${mark} in ${file}`);
  return lines.slice(first + 1, last).flatMap((line) => {
    const [, name] = /^(?:\d+ +)?(\w+)\(/.exec(line) ?? [];
    return name === undefined ? [] : [name];
  });
}

function isMark(line: string, mark: string, which: 'begin' | 'end'): boolean {
  return line.includes(`"/benchmark/${mark}/${which}"`);
}
