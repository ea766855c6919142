import { constants, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import { O_PATH } from '../../src/kernel/open-flags.ts';
import { ImageThreads } from '../../src/mounter/image-threads.ts';
import { skipUnless } from '../support/requirements.ts';
import { silentFileSystem } from '../support/silent-file-system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const skip = skipUnless('root', 'fuse');

function image(directory: string, name: string): string {
  const root = join(directory, name);
  mkdirSync(join(root, 'disk'), { recursive: true });
  writeFileSync(join(root, 'disk/disk.img'), name.repeat(1000), { mode: 0o444 });
  return root;
}

function opening(threads: ImageThreads, root: string, timeout: number) {
  const job = { kind: 'disk', path: undefined, image: root, allowFormats: [] } as const;
  const owner = { uid: 107, gid: 107 };
  const opened = Descriptor.open(root, O_PATH | constants.O_DIRECTORY);
  return threads.open({ ...job, owner, root: opened }, timeout);
}

/** The descriptors of this process; some are closed by threads that end. */
async function returnsTo(t: Test, count: number): Promise<void> {
  const open = () => readdirSync('/proc/self/fd').length;
  for (let tries = 0; tries < 100 && open() > count; tries += 1) await sleep(20);
  t.ok(open() <= count, `${open()} descriptors, ${count} before`);
}

t.test('many at once are opened, each its own', async (t) => {
  const directory = temporaryDirectory(t);
  {
    // What the first thread of a process opens stays open.
    await using threads = new ImageThreads();
    using _file = (await opening(threads, image(directory, 'first'), 10_000)).file;
  }
  const before = readdirSync('/proc/self/fd').length;
  {
    await using threads = new ImageThreads();
    const roots = Array.from({ length: 100 }, (_, index) => image(directory, `image-${index}`));
    const settled = await Promise.allSettled(
      [...roots, join(directory, 'image-0/disk')].map((root) => opening(threads, root, 10_000)),
    );
    settled.forEach((each, index) => {
      if (each.status === 'rejected') {
        t.equal(index, 100);
        t.match(each.reason, { code: 'EDISK' });
        return;
      }
      using file = each.value.file;
      t.equal(each.value.path, '/disk/disk.img');
      t.equal(readdirSync('/proc/self/fd').includes(String(file.number)), true);
      t.equal(each.value.disk?.fileSize, `image-${index}`.length * 1000);
    });
    t.equal(threads.isStuck, false);
  }
  await returnsTo(t, before);
});

t.test('one that does not answer holds up no other', { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  const before = readdirSync('/proc/self/fd').length;
  const healthy = image(directory, 'healthy');
  const silent = join(directory, 'silent');
  mkdirSync(silent);
  const threads = new ImageThreads();
  await t.test('while it does not', async (t) => {
    await silentFileSystem(t, join(silent, 'disk'));
    threads.start();
    const timeout = 5000;
    const start = performance.now();
    const took: number[] = [];
    const givenUp: number[] = [];
    const roots = Array.from({ length: 40 }, (_, index) => (index % 15 === 5 ? silent : healthy));
    await Promise.all(
      roots.map(async (root) => {
        const opened = opening(threads, root, timeout);
        if (root === silent) {
          await t.rejects(opened, { code: 'ETIMEDOUT', message: /has not answered for 5000 ms/ });
          givenUp.push(performance.now() - start);
          return;
        }
        using _file = (await opened).file;
        took.push(performance.now() - start);
      }),
    );
    t.equal(took.length, 37);
    const longest = Math.max(...took);
    t.ok(longest < Math.min(...givenUp), `${longest} ms, and ${givenUp} for those that hang`);
    t.ok(Math.max(...givenUp) < 2 * timeout, 'those that hang are waited for together');
    t.equal(threads.isStuck, true);
    using _again = (await opening(threads, healthy, timeout)).file;
  });
  // The server is gone by now, and the threads get their answers.
  for (let tries = 0; tries < 100 && threads.isStuck; tries += 1) await sleep(20);
  t.equal(threads.isStuck, false);
  await threads[Symbol.asyncDispose]();
  await returnsTo(t, before);
});

t.test('no more threads than can be spared hang', { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  const silent = join(directory, 'silent');
  mkdirSync(silent);
  await silentFileSystem(t, join(silent, 'disk'));
  const threads = new ImageThreads();
  const messages: string[] = [];
  await Promise.all(
    Array.from({ length: 24 }, () =>
      opening(threads, silent, 200).then(
        () => t.fail('it answers'),
        (error: Error) => messages.push(error.message),
      ),
    ),
  );
  const count = (pattern: RegExp) => messages.filter((message) => pattern.test(message)).length;
  const waited = count(/has not answered for 200 ms/);
  // Those that were at work when the sixteenth was given up are waited for, too.
  t.ok(waited >= 16 && waited < 20, `${waited}`);
  t.equal(waited + count(/is not looked at: 1[6-9] threads wait/), 24);
});
