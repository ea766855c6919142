/** What a command line asks for: sockets to hold, or nothing at all (`--no-op`). */
export interface HoldArguments {
  readonly copyPaths: readonly string[];
  readonly noOp: boolean;
}

/**
 * Reads the command lines that KubeVirt's pods have, `--no-op` and `--copy-path PATH` (or `-c PATH`, repeated).
 *
 * Containers start with a hundredth of a core, where reading the command line with commander takes as long as
 * a third of a second. It is loaded for everything else.
 *
 * @returns undefined where commander has to look, also for its error messages
 */
export function plainArguments(argv: readonly string[]): HoldArguments | undefined {
  if (argv.length === 1 && argv[0] === '--no-op') return { copyPaths: [], noOp: true };
  const copyPaths: string[] = [];
  for (let index = 0; index < argv.length; index += 2) {
    const [option, path] = [argv[index], argv[index + 1]];
    if (option !== '--copy-path' && option !== '-c') return undefined;
    if (path === undefined) return undefined;
    copyPaths.push(path);
  }
  return copyPaths.length > 0 ? { copyPaths, noOp: false } : undefined;
}
