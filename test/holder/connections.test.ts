import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { appears, knock, knockAtOnce, Run } from '../support/holder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

t.test('500 starts: whoever sees the socket can connect to it', { timeout: 120_000 }, async (t) => {
  const directory = temporaryDirectory(t);
  const answers = new Map<string, number>();
  for (let start = 0; start < 500; start += 1) {
    const path = join(directory, `disk_${start}`);
    const answer = knockAtOnce(`${path}.sock`);
    const run = new Run(t, ['--copy-path', path]);
    const seen = await answer;
    answers.set(seen, (answers.get(seen) ?? 0) + 1);
    run.child.kill('SIGKILL');
    await run.ended;
  }
  t.strictSame([...answers], [['accepted', 500]]);
});

t.test('connections', async (t) => {
  const directory = temporaryDirectory(t);
  const socket = join(directory, 'disk_0.sock');
  const run = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
  await appears(socket, run);

  t.test('200 with 25 ms between them', async (t) => {
    const answers: Promise<string>[] = [];
    for (let count = 0; count < 200; count += 1) {
      answers.push(knock(socket));
      await sleep(25);
    }
    t.strictSame([...new Set(await Promise.all(answers))], ['accepted']);
  });

  t.test('5,000 as fast as they go', async (t) => {
    const answers = new Map<string, number>();
    const many = 50;
    await Promise.all(
      Array.from({ length: many }, async () => {
        for (let count = 0; count < 5000 / many; count += 1) {
          const answer = await knock(socket);
          answers.set(answer, (answers.get(answer) ?? 0) + 1);
        }
      }),
    );
    t.strictSame([...answers], [['accepted', 5000]]);
  });

  t.test('1,000 at once, held open by the client', async (t) => {
    const clients = await Promise.all(
      Array.from(
        { length: 1000 },
        () =>
          new Promise<Socket>((resolve, reject) => {
            const client = connect({ path: socket, allowHalfOpen: true });
            client.once('error', reject);
            client.once('connect', () => resolve(client));
          }),
      ),
    );
    t.equal(await knock(socket), 'accepted');
    for (const client of clients) client.destroy();
  });

  t.test('a client that sends and goes away does no harm', async (t) => {
    for (let count = 0; count < 100; count += 1) {
      await new Promise<void>((resolve) => {
        const client = connect({ path: socket });
        client.on('error', () => {});
        client.once('close', () => resolve());
        client.write(Buffer.alloc(300_000));
        client.once('connect', () => client.destroy());
      });
    }
    t.equal(await knock(socket), 'accepted');
    t.equal(run.child.exitCode, null);
    t.equal(run.stderr, '');
  });
});
