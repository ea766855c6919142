/** What a command line asks for that KubeVirt's pods have. */
export type PlainCommand =
  | { readonly kind: 'no-op' }
  | { readonly kind: 'hold'; readonly copyPaths: readonly string[] }
  | { readonly kind: 'copy'; readonly source: string; readonly destination: string };

/**
 * Reads the command lines that KubeVirt's pods have: `--no-op`, `--copy-path PATH` (or `-c PATH`, repeated), and
 * `cp SOURCE DESTINATION`.
 *
 * Containers start with a hundredth of a core, where reading the command line with commander takes as long as
 * a third of a second. It is loaded for everything else.
 *
 * @param name that the program was started under
 * @returns undefined where commander has to look, also for its error messages
 */
export function plainCommand(name: string, argv: readonly string[]): PlainCommand | undefined {
  const [first = '', second = ''] = argv;
  if (name === 'cp') {
    const isPlain = argv.length === 2 && !first.startsWith('-') && !second.startsWith('-');
    return isPlain ? { kind: 'copy', source: first, destination: second } : undefined;
  }
  if (argv.length === 1 && first === '--no-op') return { kind: 'no-op' };
  const copyPaths: string[] = [];
  for (let index = 0; index < argv.length; index += 2) {
    const [option, path] = [argv[index], argv[index + 1]];
    if (option !== '--copy-path' && option !== '-c') return undefined;
    if (path === undefined) return undefined;
    copyPaths.push(path);
  }
  return copyPaths.length > 0 ? { kind: 'hold', copyPaths } : undefined;
}
