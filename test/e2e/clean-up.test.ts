import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';
import { kubepods, removeCgroups } from './cgroups.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'containerd', 'losetup');
const script = join(import.meta.dirname, 'fails.ts');

interface Made {
  readonly directory: string;
  readonly namespace: string;
  readonly pod: string;
  readonly mounts: number;
}

/** Runs the test that fails until it says what it has made. */
async function run(how: string) {
  const child = spawn(process.execPath, [script, how], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exit = once(child, 'exit');
  let said = '';
  for await (const chunk of child.stderr) {
    said += chunk;
    const line = /^\{.*\}$/m.exec(said)?.[0];
    if (line !== undefined) return { child, exit, made: JSON.parse(line) as Made };
  }
  throw new Error(`the test ended: ${said}`);
}

/** containerd, shims, containers: whatever runs in the pid namespace of the host. */
function processes(namespace: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/ns/pid`) === namespace;
    } catch {
      return false;
    }
  });
}

/** Mounts of any process that can be seen here, and loop devices. */
function mountsAndLoops(directory: string): string[] {
  const loops = execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], {
    encoding: 'utf8',
  });
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  return [...loops.split('\n'), ...mounts.split('\n')].filter((line) => line.includes(directory));
}

function cgroups(pod: string): string[] {
  return kubepods()
    .map((top) => join(top, `burstable/pod${pod}`))
    .filter(existsSync);
}

t.test('nothing is left of a test that fails', { skip }, async (t) => {
  const { made, exit } = await run('fail');
  t.equal(made.mounts, 4);
  const [code] = await exit;
  t.equal(code, 1);
  t.same(processes(made.namespace), []);
  t.same(mountsAndLoops(made.directory), []);
  t.same(cgroups(made.pod), []);
  t.notOk(existsSync(made.directory));
});

t.test('no process and no mount is left of a test that is killed', { skip }, async (t) => {
  const { made, child, exit } = await run('hang');
  t.teardown(async () => {
    await removeCgroups([made.pod]);
    rmSync(made.directory, { recursive: true });
  });
  t.not(processes(made.namespace).length, 0);
  t.not(cgroups(made.pod).length, 0);
  child.kill('SIGKILL');
  await exit;
  const deadline = performance.now() + 10_000;
  while (processes(made.namespace).length > 0 && performance.now() < deadline) await sleep(20);
  t.same(processes(made.namespace), []);
  t.same(mountsAndLoops(made.directory), []);
});
