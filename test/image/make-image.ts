import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const script = join(import.meta.dirname, '../../scripts/image.ts');

export interface Made {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `npm run image -- …` */
export function makeImage(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Made {
  return spawnSync(process.execPath, [script, ...argv], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}
