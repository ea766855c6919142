/** Arguments of strace(1): system calls tampered with, each as `inject=` has it, and no other decoded. */
export function tampering(...injections: readonly string[]): string[] {
  const calls = injections.map((injection) => injection.split(':', 1)[0]);
  return [
    ...['-f', '-qq', '-o', '/dev/null'],
    ...['-e', `trace=${calls.join(',')}`],
    ...injections.flatMap((injection) => ['-e', `inject=${injection}`]),
  ];
}
