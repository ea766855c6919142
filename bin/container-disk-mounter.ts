#!/usr/bin/env node
import type { Verb } from '../src/mounter/command.ts';
import { type CommandOptions, mounterCommand } from './container-disk-mounter-commands.ts';

/** The mounter is loaded when a command runs, so that `--help` answers at once. */
async function run(verb: Verb, options: CommandOptions, socket?: string): Promise<void> {
  const { exitAtOnce } = await import('../src/kernel/exit-at-once.ts');
  const { Mounter } = await import('../src/mounter/mounter.ts');
  const { runCommand } = await import('../src/mounter/command.ts');
  const { formatted } = await import('../src/mounter/output/structured.ts');
  const { logLine } = await import('../src/mounter/output/event-log.ts');
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => controller.abort(new Error(`ended by ${signal}`)));
  }
  const log = (level: 'error' | 'warn' | 'info' | 'debug', message: string) =>
    process.stderr.write(logLine(options.logFormat, { level, message }));
  // A reader that has gone has seen what it wanted (head); the work is done all the same.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    log('error', `cannot write the result: ${error.message}`);
    process.exitCode = 1;
  });
  const mounter = new Mounter({
    hostRoot: options.hostRoot,
    kubeletDirectory: options.kubeletDir,
    stateDirectory: options.stateDir,
    hostMountNamespace: options.hostMountNamespace,
    owner: options.owner,
    strategy: options.strategy,
    timeout: options.socketTimeout,
    onEvent: (event) => {
      const isWanted = options.verbose || event.level === 'warn' || event.level === 'error';
      if (isWanted) process.stderr.write(logLine(options.logFormat, event));
    },
  });
  try {
    const result = await runCommand(mounter, verb, { ...options, socket }, controller.signal);
    for (const { message } of result.errors) log('error', message);
    process.stdout.write(formatted(options.output, result.value, result.table));
    if (result.failed) process.exitCode = 1;
  } catch (error) {
    log('error', error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  } finally {
    await mounter[Symbol.asyncDispose]();
  }
  if (mounter.isStuck) exitAtOnce(Number(process.exitCode ?? 0));
}

await mounterCommand(run).parseAsync();
