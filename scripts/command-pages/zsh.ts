import type { CommandModel, OptionModel, ValueModel } from './command-model.ts';

/** A completion function for zsh; its file is `_<command>` in a directory of `$fpath`. */
export function zshCompletion(command: CommandModel): string {
  const descriptions = command.commands.map(
    ({ name, description }) => `    ${quoted(`${name}:${description.replaceAll(':', '\\:')}`)}`,
  );
  return `#compdef ${command.name}
# Made by \`npm run command-pages\`.

_${command.name}() {
  local curcontext=$curcontext state line ret=1
  local -a options commands
  options=(
${command.options.map((option) => `    ${optionSpec(option)}`).join('\n')}
  )
  commands=(
${descriptions.join('\n')}
  )
  _arguments -C -s $options '1: :->command' '*:: :->rest' && ret=0
  case $state in
    command) _describe command commands && ret=0 ;;
    rest)
      case $line[1] in
${command.commands.map(commandCase).join('\n')}
      esac
      ;;
  esac
  return ret
}

_${command.name} "$@"
`;
}

function commandCase({ name, options, arguments: values }: CommandModel): string {
  const own = options.filter(({ flags }) => !flags.includes('--help')).map(optionSpec);
  const positional = values.map((value, index) => quoted(`${index + 1}:${valueSpec(value)}`));
  const specs = [...own, ...positional].map((spec) => ` \\\n            ${spec}`).join('');
  return `        ${name})
          _arguments -s $options${specs} && ret=0
          ;;`;
}

/** One specification of _arguments for all names of the option, of which one excludes the others. */
function optionSpec({ flags, value, description, repeatable }: OptionModel): string {
  const text = `[${description.replace(/[[\]\\]/g, '\\$&')}]${value ? `:${valueSpec(value)}` : ''}`;
  const [only = ''] = flags;
  const prefix = repeatable ? "'*'" : `'(${flags.join(' ')})'`;
  const names = flags.length === 1 ? only : `{${flags.join(',')}}`;
  return `${prefix}${names}${quoted(text)}`;
}

function valueSpec({ name, kind, choices }: ValueModel): string {
  const action = {
    choice: `(${choices.join(' ')})`,
    file: '_files',
    directory: '_files -/',
    other: ' ',
  };
  return `${name.replaceAll(':', '\\:')}:${action[kind]}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
