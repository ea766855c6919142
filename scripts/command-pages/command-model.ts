import type { Command, Option } from 'commander';

/** What a value is, as far as a shell can complete it. */
export type ValueKind = 'file' | 'directory' | 'choice' | 'other';

export interface ValueModel {
  /** As it stands in the usage, without the angle brackets. */
  readonly name: string;
  readonly kind: ValueKind;
  readonly choices: readonly string[];
}

export interface OptionModel {
  /** `-o` and `--output`, the short one first where there is one. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly value: ValueModel | undefined;
  /** How the value that it has otherwise is written. */
  readonly defaultText: string | undefined;
  readonly mandatory: boolean;
  readonly repeatable: boolean;
}

/** A command as man pages and shells need it. */
export interface CommandModel {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionModel[];
  readonly arguments: readonly ValueModel[];
  readonly commands: readonly CommandModel[];
}

/** Reads the definition of a command; `help` is left out, as --help says the same. */
export function commandModel(command: Command): CommandModel {
  const help = command.createHelp();
  return {
    name: command.name(),
    description: command.description(),
    options: help.visibleOptions(command).map(optionModel),
    arguments: command.registeredArguments.map((argument) =>
      valueModel(argument.name(), argument.argChoices ?? []),
    ),
    commands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .map(commandModel),
  };
}

function optionModel(option: Option): OptionModel {
  const { short, long, description, flags, defaultValue, defaultValueDescription } = option;
  const placeholder = /<([^>]+)>/.exec(flags)?.[1];
  const hasDefault = placeholder !== undefined && typeof defaultValue === 'string';
  return {
    flags: [short, long].filter((flag) => flag !== undefined),
    description,
    value: placeholder === undefined ? undefined : valueModel(placeholder, option.argChoices ?? []),
    defaultText: defaultValueDescription ?? (hasDefault ? defaultValue : undefined),
    mandatory: option.mandatory,
    repeatable: Array.isArray(defaultValue),
  };
}

const kinds: Readonly<Record<string, ValueKind>> = {
  file: 'file',
  path: 'file',
  socket: 'file',
  source: 'file',
  destination: 'file',
  dir: 'directory',
};

function valueModel(name: string, choices: readonly string[]): ValueModel {
  return { name, choices, kind: choices.length > 0 ? 'choice' : (kinds[name] ?? 'other') };
}
