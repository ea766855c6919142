import type { CommandModel, OptionModel } from './command-model.ts';

/** What a manual page says that the definition of its command does not. */
export interface Prose {
  readonly section: 1 | 8;
  /** Paragraphs. */
  readonly description: readonly string[];
  /** Code and meaning. */
  readonly exitStatus: readonly (readonly [string, string])[];
  readonly files: readonly (readonly [string, string])[];
  /** What is done, and the command line. */
  readonly examples: readonly (readonly [string, string])[];
  readonly seeAlso: readonly string[];
}

/**
 * A manual page in the macros of man(7).
 *
 * @param date of the version, as YYYY-MM-DD
 */
export function manualPage(
  command: CommandModel,
  prose: Prose,
  version: string,
  date: string,
): string {
  const { name, description } = command;
  const title = name.toUpperCase();
  return [
    `.\\" Made by \`npm run command-pages\`.`,
    `.TH ${title} ${prose.section} ${date} "container-disk ${version}"`,
    '.SH NAME',
    `${escaped(name)} \\-`,
    filled(lowerFirst(description.replace(/\.$/, ''))),
    '.SH SYNOPSIS',
    ...synopsis(command),
    '.SH DESCRIPTION',
    ...paragraphs(prose.description),
    '.SH OPTIONS',
    ...command.options.flatMap(option),
    ...(command.commands.length === 0 ? [] : ['.SH COMMANDS']),
    ...command.commands.flatMap(subcommand),
    '.SH EXIT STATUS',
    ...definitions(prose.exitStatus),
    ...(prose.files.length === 0 ? [] : ['.SH FILES']),
    ...definitions(prose.files),
    '.SH EXAMPLES',
    ...prose.examples.flatMap(([what, line], index) => [
      ...(index === 0 ? [] : ['.PP']),
      escaped(what),
      '.PP',
      '.RS 4',
      '.nf',
      escaped(line),
      '.fi',
      '.RE',
    ]),
    '.SH SEE ALSO',
    ...prose.seeAlso.map((page, index, { length }) => {
      const [, reference = page, section = ''] = /^(.+)(\(\d\))$/.exec(page) ?? [];
      return `.BR ${escaped(reference)} "${section}${index + 1 < length ? ',' : ''}"`;
    }),
    '',
  ].join('\n');
}

function synopsis({ name, commands }: CommandModel): string[] {
  return commands.flatMap(({ name: verb, options, arguments: values }, index) => [
    ...(index === 0 ? [] : ['.br']),
    `.B ${escaped(name)}`,
    `.RI [ options ]`,
    `.B ${escaped(verb)}`,
    ...options
      .filter(({ mandatory }) => mandatory)
      .map(({ flags, value }) => `.BI ${escaped(flags[0] ?? '')} " ${escaped(value?.name ?? '')}"`),
    ...values.map((value) => `.I ${escaped(value.name)}`),
  ]);
}

function subcommand({ name, description, options, arguments: values }: CommandModel): string[] {
  const words = values.map((value) => ` \\fI${escaped(value.name)}\\fR`).join('');
  const own = options.filter(({ flags }) => !flags.includes('--help'));
  return [
    '.TP',
    `\\fB${escaped(name)}\\fR${words}`,
    filled(sentence(description)),
    ...(own.length === 0 ? [] : ['.RS', ...own.flatMap(option), '.RE']),
  ];
}

function option({ flags, value, description, defaultText }: OptionModel): string[] {
  const names = flags.map((flag) => `\\fB${escaped(flag)}\\fR`).join(', ');
  const notes = [
    value && value.choices.length > 0 ? `One of ${value.choices.join(', ')}.` : '',
    defaultText === undefined ? '' : `The default is ${defaultText}.`,
  ].filter(Boolean);
  return [
    '.TP',
    `${names}${value ? ` \\fI${escaped(value.name)}\\fR` : ''}`,
    filled([sentence(description), ...notes].join(' ')),
  ];
}

function definitions(list: readonly (readonly [string, string])[]): string[] {
  return list.flatMap(([term, text]) => ['.TP', `\\fB${escaped(term)}\\fR`, filled(text)]);
}

function paragraphs(texts: readonly string[]): string[] {
  return texts.flatMap((text, index) => [...(index === 0 ? [] : ['.PP']), filled(text)]);
}

/** Words for roff(7): no character of them is a request or an escape. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replace(/^(?=[.'])/, '\\&');
}

/** Text in lines that are no longer than those of a terminal. */
function filled(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    const longer = line === undefined ? word : `${line} ${word}`;
    if (line === undefined || escaped(longer).length > 78) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.map(escaped).join('\n');
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;
}

function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
