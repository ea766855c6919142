import { writeSync } from 'node:fs';
import { isHolderError } from './holder-error.ts';

/** The one line that the person on call reads; a stack trace would tell them nothing. */
export function failure(error: unknown): string {
  if (isHolderError(error)) return `error: ${error.message}`;
  const { message } = error instanceof Error ? error : new Error(String(error));
  return `error: unexpected: ${message.replaceAll('\n', ' ')}`;
}

/** Writes a line to standard error, past the streams of Node.js, which cost start-up time. */
export function tell(line: string): void {
  writeSync(2, `container-disk: ${line}\n`);
}
