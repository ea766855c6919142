import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { terminalPicture } from './demo-picture/terminal-picture.ts';

/** Runs the demo, as root, and writes what it prints to docs/demo.svg. */
const root = join(import.meta.dirname, '..');
const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts/demo.ts')], {
  encoding: 'utf8',
});
if (status === 0 && process.getuid?.() === 0) {
  writeFileSync(join(root, 'docs/demo.svg'), terminalPicture('npm run demo', stdout));
} else {
  const why = status === 0 ? 'the picture is of what root sees' : `${stdout}${stderr}`;
  console.error(`demo-picture: error: no picture was made: ${why}`);
  process.exitCode = 1;
}
