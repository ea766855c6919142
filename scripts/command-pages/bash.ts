import type { CommandModel, OptionModel, ValueModel } from './command-model.ts';

/** A completion script for bash 4 or later; it needs no bash-completion package. */
export function bashCompletion(command: CommandModel): string {
  const name = `_${command.name.replaceAll('-', '_')}`;
  const options = [command, ...command.commands].flatMap((each) => each.options);
  const flags = (wanted: readonly OptionModel[]) => [
    ...new Set(wanted.flatMap((option) => option.flags)),
  ];
  const withValue = flags(options.filter(({ value }) => value !== undefined));
  return `# bash completion for ${command.name}. Made by \`npm run command-pages\`.

${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local command='' word index
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
${valueCases(options)}  esac
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case $word in
      ${withValue.join(' | ')}) [[ \${COMP_WORDS[index + 1]} == = ]] && ((index++)); ((index++)) ;;
      -*) ;;
      *) command=$word; break ;;
    esac
  done
  case $command in
${command.commands.map((each) => commandCase(command, each)).join('')}    '')
      mapfile -t COMPREPLY < <(compgen -W '${words(command, [])}' -- "$current")
      ;;
  esac
}
complete -F ${name} ${command.name}
`;
}

function commandCase(program: CommandModel, command: CommandModel): string {
  const [argument] = command.arguments;
  const files =
    argument === undefined || argument.kind === 'other'
      ? ''
      : `\n      [[ $current == -* ]] || { ${generator(argument)}; }`;
  return `    ${command.name})
      mapfile -t COMPREPLY < <(compgen -W '${words({ ...program, commands: [] }, command.options)}' -- "$current")${files}
      ;;
`;
}

/** All that can stand where no value is expected. */
function words(command: CommandModel, more: readonly OptionModel[]): string {
  const flags = [...more, ...command.options].flatMap((option) => option.flags);
  return [...command.commands.map((each) => each.name), ...new Set(flags)].join(' ');
}

/** What completes the value of an option, for all options with the same kind of value at once. */
function valueCases(options: readonly OptionModel[]): string {
  const byGenerator = new Map<string, Set<string>>();
  for (const { flags, value } of options) {
    if (value === undefined) continue;
    const known = byGenerator.get(generator(value)) ?? new Set();
    byGenerator.set(generator(value), new Set([...known, ...flags]));
  }
  return [...byGenerator]
    .map(
      ([text, flags]) => `    ${[...flags].join(' | ')})\n      ${text}\n      return\n      ;;\n`,
    )
    .join('');
}

function generator({ kind, choices }: ValueModel): string {
  switch (kind) {
    case 'choice':
      return `mapfile -t COMPREPLY < <(compgen -W '${choices.join(' ')}' -- "$current")`;
    case 'directory':
      return files('-d');
    case 'file':
      return files('-f');
    default:
      return ':';
  }
}

function files(action: string): string {
  return `compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen ${action} -- "$current")`;
}
