import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRoot } from './demo/container.ts';
import { NodeDirectories } from './demo/node-directories.ts';
import { lostAccess } from './sandbox/lost-access.ts';
import { running } from './sandbox/running.ts';
import type { Scenario, Stage } from './sandbox/scenario.ts';
import { mounterWords, runOn } from './sandbox/shell.ts';
import { stuckInStarting } from './sandbox/stuck-in-starting.ts';
import { terminating } from './sandbox/terminating.ts';

const scenarios: Readonly<Record<string, Scenario>> = {
  running,
  'stuck-in-starting': stuckInStarting,
  terminating,
  'lost-access': lostAccess,
};

const usage = `usage: npm run sandbox -- SCENARIO [COMMAND...]

Makes a node's directories in a temporary folder, with pods that run, and starts a shell, or COMMAND,
in which container-disk-mounter works on it. All is gone when that ends. It needs root.

${Object.entries(scenarios)
  .map(([name, { symptom }]) => `  ${name.padEnd(20)}${symptom}`)
  .join('\n')}
`;

async function sandbox(
  scenario: Scenario,
  command: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  await using cleanup = new AsyncDisposableStack();
  const node = cleanup.use(new NodeDirectories());
  node.shareMounts();
  const binaries = join(node.root, 'binaries');
  mkdirSync(binaries);
  copyFileSync(
    join(import.meta.dirname, '../dist/container-disk'),
    join(binaries, 'container-disk'),
  );
  const mounter: Stage['mounter'] = (vmi, verb) => {
    const file = join(node.root, 'vmi.json');
    writeFileSync(file, JSON.stringify(vmi));
    const [program = '', ...argv] = mounterWords(node);
    const all = verb === 'unmount' ? ['--all'] : [];
    const { status, stderr } = spawnSync(program, [...argv, verb, '-f', file, ...all], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`container-disk-mounter ${verb}: exit ${status} ${stderr}`);
  };
  const scene = await scenario.setUp({ node, binaries, cleanup, mounter });
  return await runOn(node, scene, command, signal);
}

const [name = '', ...command] = process.argv.slice(2);
const scenario = scenarios[name];
const ended = new AbortController();
// What is typed is the shell's. However this process ends, it is when all is taken away again.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ended.abort());
if (scenario === undefined || !isRoot) {
  process.stderr.write(scenario === undefined ? usage : 'sandbox: error: it needs root\n');
  process.exitCode = 1;
} else {
  try {
    process.exitCode = await sandbox(scenario, command, ended.signal);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`sandbox: error: ${message}\n`);
    process.exitCode = 1;
  }
}
