import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QmpClient } from './qmp-client.ts';

const path = join(import.meta.dirname, '../../../docs/virtual-machine.md');

/** A command to send, or an event to wait for. */
interface Line {
  readonly execute?: string;
  readonly arguments?: object;
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The guide for people, whose commands the tests run. */
export function guide(): string {
  return readFileSync(path, 'utf8');
}

/** Does what the guide says below a heading. */
export async function follow(qmp: QmpClient, heading: string): Promise<void> {
  for (const line of linesBelow(heading)) {
    if (line.execute !== undefined) await qmp.execute(line.execute, line.arguments);
    if (line.event !== undefined) await qmp.event(line.event, line.data);
  }
}

function linesBelow(heading: string): Line[] {
  const [, section = ''] = guide().split(`\n### ${heading}\n`);
  const [, block] = section.split('\n#')[0]?.split(/```(?:json)?\n/) ?? [];
  if (block === undefined) throw new Error(`${path} has no commands below "${heading}"`);
  return block
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
