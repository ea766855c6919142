import { printable } from '../../kubevirt/printable.ts';
import type { MounterEvent } from '../run-context.ts';

/** How events are logged. */
export type LogFormat = 'text' | 'json';

/** One line of a log: text for people, or a JSON object with level, msg, time, pod and volume. */
export function logLine(format: LogFormat, event: MounterEvent): string {
  const { level, message, pod, volume } = event;
  if (format === 'json') {
    const time = new Date().toISOString();
    return `${JSON.stringify({ level, msg: message, time, pod, volume })}\n`;
  }
  const about = [pod, volume].filter(Boolean).join(' ');
  const text = longPrintable(message);
  return `container-disk-mounter: ${level}: ${about === '' ? '' : `${printable(about)}: `}${text}\n`;
}

/** Messages are made of parts that are escaped already; this holds what comes from elsewhere to one line. */
function longPrintable(message: string): string {
  return message.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
}
