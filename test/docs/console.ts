import { readFileSync } from 'node:fs';

/** A command of a page, and what it prints according to it. */
export interface ConsoleCommand {
  readonly command: string;
  readonly output: readonly string[];
}

/** The commands of a section, all for one sandbox. */
export interface ConsoleSection {
  readonly heading: string;
  readonly sandbox: string | undefined;
  readonly commands: readonly ConsoleCommand[];
}

/**
 * The ```console blocks of a page, by its sections. A line that begins with `$ ` is a command, what follows is what it
 * prints. `npm run sandbox -- NAME` in the section says where.
 */
export function consoleSections(path: string): ConsoleSection[] {
  const sections = readFileSync(path, 'utf8').split(/^(?=## )/m);
  return sections.flatMap((text) => {
    const blocks = Array.from(
      text.matchAll(/^```console\n(.*?)^```$/gms),
      ([, block = '']) => block,
    );
    if (blocks.length === 0) return [];
    const commands = blocks.join('').split(/^\$ /m).slice(1);
    return [
      {
        heading: text.slice(0, text.indexOf('\n')).replace(/^#+ /, ''),
        sandbox: /`npm run sandbox -- ([a-z-]+)`/.exec(text)?.[1],
        commands: commands.map((each) => {
          const [command = '', ...output] = each.trimEnd().split('\n');
          return { command, output };
        }),
      },
    ];
  });
}

/** Lines as a page has them: `…` stands for anything in a line, alone for any lines, and spaces for any spaces. */
export function patternOf(lines: readonly string[]): RegExp {
  const text = lines.map((line) =>
    line === '…'
      ? '(?:.*\n)*?'
      : `${line
          .trim()
          .split(/\s*…\s*/)
          .map((part) => part.split(/\s+/).map(literal).join('\\s+'))
          .join('.*')}[^\\S\n]*\n`,
  );
  return new RegExp(`^${text.join('')}$`);
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
