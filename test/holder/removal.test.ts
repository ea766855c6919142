import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, copyFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { appears, knock, program, Run } from '../support/holder.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function removalToExit(t: import('tap').Test, options?: { command: string[] }) {
  const directory = temporaryDirectory(t);
  const socket = join(directory, 'disk_0.sock');
  const run = new Run(t, ['--copy-path', join(directory, 'disk_0')], options);
  await appears(socket, run);
  await knock(socket);
  const start = performance.now();
  unlinkSync(socket);
  const { code, stderr } = await run.ended;
  const milliseconds = performance.now() - start;
  t.equal(code, 0);
  return { milliseconds, stderr };
}

t.test('with inotify: under 50 ms in the median', async (t) => {
  const times: number[] = [];
  for (let count = 0; count < 21; count += 1) {
    const { milliseconds, stderr } = await removalToExit(t);
    t.notMatch(stderr, /no inotify/);
    times.push(milliseconds);
  }
  t.comment(`median ${median(times).toFixed(1)} ms, longest ${Math.max(...times).toFixed(1)} ms`);
  t.ok(median(times) < 50, `median ${median(times).toFixed(1)} ms`);
});

const needed = skipUnless('root', 'setpriv');
t.test('without an inotify instance left: under 1.5 s', { skip: needed }, async (t) => {
  // A user that nothing else on the machine runs as, so that taking its instances disturbs nobody.
  const uid = 62_107;
  const hog = spawn(process.execPath, ['-e', takeAllInotifyInstances, String(uid)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: import.meta.dirname,
  });
  t.teardown(() => hog.kill('SIGKILL'));
  const [taken] = await once(hog.stdout, 'data');
  t.ok(Number(taken) > 0, `${taken} inotify instances taken`);
  const directory = temporaryDirectory(t);
  copyFileSync(program, join(directory, 'container-disk'));
  chownSync(directory, uid, uid);
  const asUser = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const socket = join(directory, 'disk_0.sock');
  const run = new Run(t, ['--copy-path', join(directory, 'disk_0')], {
    command: [...asUser, join(directory, 'container-disk')],
  });
  await appears(socket, run);
  t.equal(await knock(socket), 'accepted');
  const start = performance.now();
  unlinkSync(socket);
  const { code, stderr } = await run.ended;
  const milliseconds = performance.now() - start;
  t.equal(code, 0);
  t.match(stderr, /no inotify for .*, looking once a second instead: .*\(EMFILE\)/);
  t.ok(milliseconds < 1500, `${milliseconds.toFixed(0)} ms`);
});

/** inotify_init1(2) as the user until it says EMFILE; the instances are held until the process ends. */
const takeAllInotifyInstances = `
  const koffi = require('koffi');
  const inotifyInit = koffi.load('libc.so.6').func('int inotify_init1(int)');
  process.setgid(Number(process.argv[1]));
  process.setuid(Number(process.argv[1]));
  let taken = 0;
  while (inotifyInit(0) >= 0) taken += 1;
  if (koffi.errno() !== koffi.os.errno.EMFILE) throw new Error('errno ' + koffi.errno());
  process.stdout.write(String(taken));
  setInterval(() => {}, 1e9);
`;
