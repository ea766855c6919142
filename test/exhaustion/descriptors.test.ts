import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { appears, knock, program, Run } from '../support/holder.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { LimitedNode } from './limited-node.ts';

const skip = skipUnless('root', 'unshare', 'setpriv');

/** With fewer Node.js does not start: it has some twenty of its own. */
const limits = [24, 32, 40, 48, 56, 64, 72, 96];

t.test('a mounter with too few descriptors', { skip }, async (t) => {
  const limited = await LimitedNode.start(t);
  const codes = new Set<number | undefined>();
  for (const limit of limits) {
    const few = ['prlimit', `--nofile=${limit}`];
    const mount = limited.run(few, 'mount');
    codes.add(mount.code);
    t.comment(`mount with ${limit} descriptors: exit code ${mount.code}`);
    if (mount.code === 1) t.match(mount.stderr, /too many open files/, `${limit}: it says so`);
    await limited.isAsReported(`mount with ${limit}`, mount);
  }
  t.ok(codes.has(1) && codes.has(0), 'too few at first, enough at last');

  for (const limit of [24, 32, 40]) {
    t.equal(limited.run([], 'mount').code, 0);
    const few = ['prlimit', `--nofile=${limit}`];
    const { code, stderr } = limited.run(few, 'unmount', '--all');
    if (code !== 0) t.match(stderr, /too many open files/);
    else t.strictSame(limited.node.mounts(), []);
    await limited.isAsReported(`unmount with ${limit}`, {
      code: undefined,
      signal: 'SIGKILL',
      stderr: '',
      volumes: [],
    });
  }
});

t.test('a holder with too few descriptors', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'disk_0');
  const outcomes = new Set<string>();
  for (const limit of [20, 21, 22, 23, 24, 26, 32]) {
    const run = new Run(t, ['-c', path], { command: ['prlimit', `--nofile=${limit}`, program] });
    const isHeld = await appears(`${path}.sock`, run).then(
      () => true,
      () => false,
    );
    if (isHeld) {
      t.equal(await knock(`${path}.sock`), 'accepted', `${limit}: it is held`);
      run.child.kill('SIGTERM');
    }
    const { code, signal, stderr } = await run.ended;
    outcomes.add(isHeld ? 'held' : signal ? 'no Node.js' : 'refused');
    if (isHeld) t.equal(code, 0);
    else if (!signal) t.match(stderr, /^container-disk: error: .*too many open files/, stderr);
    t.strictSame(readdirSync(directory), [], `${limit}: nothing is left`);
    rmSync(path, { force: true });
  }
  t.ok(outcomes.size > 1 && outcomes.has('held'), [...outcomes].join(', '));
});
