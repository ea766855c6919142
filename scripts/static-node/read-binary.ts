import { readFileSync } from 'node:fs';
import { StaticNodeError } from './static-node-error.ts';

/** @throws StaticNodeError EINPUT */
export function readBinary(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StaticNodeError('EINPUT', `cannot read the binary: ${why}`, { cause });
  }
}
