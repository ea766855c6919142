import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Result } from '../../scripts/bench/comparison.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');

function bench(...argv: string[]) {
  const script = join(root, 'scripts/bench.ts');
  return spawnSync(process.execPath, [script, ...argv], { encoding: 'utf8', cwd: root });
}

function median(results: readonly Result[], figure: string, contestant: RegExp): number {
  const found = results.find((each) => each.figure === figure && contestant.test(each.contestant));
  return found?.summary.median ?? Number.NaN;
}

t.test('the holder beside its peers, with a plot', { skip: skipUnless('g++') }, async (t) => {
  const plots = temporaryDirectory(t);
  const { status, stdout, stderr } = bench(
    ...['--only', 'no-op', '--only', 'connections', '--rounds', '2'],
    ...['-o', 'json', '--plot', plots],
  );
  t.equal(status, 0, stderr);
  const { results, targets } = JSON.parse(stdout);
  t.ok(median(results, 'no-op-cpu', /^container-disk$/) > 0);
  t.ok(median(results, 'no-op-cpu', /node -e 0$/) > median(results, 'no-op-cpu', /^C, static$/));
  t.ok(median(results, 'connections', /^container-disk$/) > 0);
  t.equal(median(results, 'refused', /^C, dynamic$/), 0);
  t.match(targets, [{ figure: /no-op/ }, { figure: /second/ }, { figure: /refused/ }]);
  t.strictSame(readdirSync(plots), ['holder.svg']);
  t.match(readFileSync(join(plots, 'holder.svg'), 'utf8'), /^<svg [\s\S]*CPU of --no-op/);
});

t.test(
  'the mounter beside its peers, in a mount namespace of its own',
  { skip: skipUnless('root', 'unshare', 'setpriv', 'strace', 'g++') },
  async (t) => {
    const { status, stdout, stderr } = bench('--only', 'calls', '-o', 'json');
    t.equal(status, 0, stderr);
    const { results } = JSON.parse(stdout);
    const loop = median(results, 'mount-calls', /C loop/);
    t.ok(loop >= 8 && loop < 9, `${loop} calls for a disk at least`);
    t.ok(median(results, 'mount-calls', /library/) > loop);
    t.ok(median(results, 'unmount-calls', /umount/) > loop);
    t.notMatch(readFileSync('/proc/self/mountinfo', 'utf8'), /\.bench-/, 'nothing is left');
  },
);

t.test('what it does not know', async (t) => {
  const { status, stderr } = bench('--only', 'nothing');
  t.equal(status, 1);
  t.match(stderr, /^bench: error: nothing is called nothing/);
  t.match(bench('--rounds', 'many'), { status: 1, stderr: /^bench: error: usage:/ });
});
