import type { CommandModel, OptionModel, ValueModel } from './command-model.ts';

/** A completion script for fish. */
export function fishCompletion(command: CommandModel): string {
  const complete = `complete -c ${command.name}`;
  const lines = [
    `# fish completion for ${command.name}. Made by \`npm run command-pages\`.`,
    `${complete} -f`,
    ...command.options.map((option) => `${complete} ${optionWords(option)}`),
    ...command.commands.map(
      ({ name, description }) =>
        `${complete} -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    ),
    ...command.commands.flatMap((each) => {
      const condition = `-n '__fish_seen_subcommand_from ${each.name}'`;
      const own = each.options.filter(({ flags }) => !flags.includes('--help'));
      return [
        ...own.map((option) => `${complete} ${condition} ${optionWords(option)}`),
        ...each.arguments.flatMap((argument) =>
          argument.kind === 'other' ? [] : [`${complete} ${condition} ${valueWords(argument)}`],
        ),
      ];
    }),
  ];
  return `${lines.join('\n')}\n`;
}

function optionWords({ flags, value, description }: OptionModel): string {
  const names = flags.map((flag) =>
    flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
  );
  const required = value?.kind === 'file' ? '-r' : '-x';
  const words = value === undefined ? [] : [required, valueWords(value)].filter(Boolean);
  return [...names, ...words, `-d ${quoted(description)}`].join(' ');
}

function valueWords({ kind, choices }: ValueModel): string {
  if (kind === 'choice') return `-a '${choices.join(' ')}'`;
  if (kind === 'directory') return `-a '(__fish_complete_directories)'`;
  return kind === 'file' ? '-F' : '';
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
