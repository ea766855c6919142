import { hold, type Notice } from './hold.ts';

/**
 * {@link hold} until SIGTERM or SIGINT. SIGTERM is how the runtime ends a container, and the first process of
 * a pid namespace is not ended by it unless it has a handler (pid_namespaces(7)).
 */
export async function holdUntilStopped(
  copyPaths: readonly string[],
  notice: Notice,
): Promise<void> {
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => controller.abort());
  }
  await hold(copyPaths, controller.signal, notice);
}
