import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QmpClient } from './qmp-client.ts';

const path = join(import.meta.dirname, '../../../docs/virtual-machine.md');

/** What the guide says of each disk of the tests, by its headings. */
export const extra = { in: 'Plug in a container disk', out: 'Take out the container disk' };
export const data = { in: 'Plug in a block device', out: 'Take out the block device' };

/** The guide for people, whose commands the tests run. */
export function guide(): string {
  return readFileSync(path, 'utf8');
}

/** A command to send, or an event to wait for. */
interface Line {
  readonly execute?: string;
  readonly arguments?: object;
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Sends what the guide has below a heading, and waits for the events there. */
export async function follow(qmp: QmpClient, heading: string): Promise<void> {
  for (const text of block(heading, 'json').trim().split('\n')) {
    const line: Line = JSON.parse(text);
    if (line.execute !== undefined) await qmp.execute(line.execute, line.arguments);
    if (line.event !== undefined) await qmp.event(line.event, line.data);
  }
}

/** The first block of a language below a heading. */
export function block(heading: string, language: string): string {
  const [, section = ''] = guide().split(`\n### ${heading}\n`);
  const [, rest = ''] = section.split('\n#')[0]?.split(`\`\`\`${language}\n`) ?? [];
  const [content] = rest.split('```');
  if (!content) throw new Error(`${path} has no ${language} below "${heading}"`);
  return content;
}
