import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare');

/** Milliseconds; a thread loads what it needs in some 40. */
const moments = [0, 2, 10, 20, 30, 40, 60];

const threads = `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { MountThread } from ${source('kernel/mount-thread.ts')};
  import { ImageThreads } from ${source('mounter/image-threads.ts')};
  const started = () => {
    const threads = [new MountThread(), new ImageThreads()];
    for (const thread of threads) thread.start();
    return threads;
  };`;

function source(path: string): string {
  return JSON.stringify(join(import.meta.dirname, '../../src', path));
}

function run(script: string) {
  const argv = ['--input-type=module', '-e', `${threads}${script}`];
  return spawnSync(process.execPath, argv, { encoding: 'utf8', timeout: 60_000 });
}

t.test('threads that are ended while they load', { skip }, async (t) => {
  const { status, signal, stdout, stderr } = run(`
    for (const moment of ${JSON.stringify(moments)}) {
      const threads = started();
      await sleep(moment);
      await Promise.all(threads.map((thread) => thread[Symbol.asyncDispose]()));
    }
    console.log('fine');`);
  t.strictSame(
    { status, signal, stdout, stderr },
    { status: 0, signal: null, stdout: 'fine\n', stderr: '' },
  );
});

t.test('a process that ends while threads load', { skip }, async (t) => {
  for (const moment of moments) {
    for (const end of ['process.exit(3);', 'process.exitCode = 3;']) {
      const { status, signal, stderr } = run(`started(); await sleep(${moment}); ${end}`);
      t.strictSame(
        { status, signal, stderr },
        { status: 3, signal: null, stderr: '' },
        `${moment}: ${end}`,
      );
    }
  }
});

t.test('a thread that has ended already', { skip }, async (t) => {
  const { status, stdout } = run(`
    const [thread] = started();
    await thread[Symbol.asyncDispose]();
    await thread[Symbol.asyncDispose]();
    console.log('fine');`);
  t.strictSame({ status, stdout }, { status: 0, stdout: 'fine\n' });
});
