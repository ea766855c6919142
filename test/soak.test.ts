import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { ProcessGoneError } from '../src/kernel/process-handle.ts';
import { reasonOf } from '../src/mounter/mounter-error.ts';
import { skipUnless } from './support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'losetup', 'cgroup2 mount');
const soak = join(import.meta.dirname, '../scripts/soak.ts');

function run(...options: readonly string[]) {
  return spawnSync(process.execPath, [soak, ...options], { encoding: 'utf8' });
}

t.test('twenty seconds of everything at random leave nothing behind', { skip }, async (t) => {
  const { status, stdout, stderr } = run('--minutes', '0.33', '--machines', '6');
  t.comment(stdout);
  t.equal(status, 0, stderr);
  t.match(stdout, /seed \d+/);
  for (const what of ['kill -9 of a mounter', 'kill -9 of a sidecar', 'mount: mounted']) {
    t.match(stdout, new RegExp(`^ +[1-9]\\d*  ${what}$`, 'm'), what);
  }
  t.match(stdout, /^Nothing was left behind\.$/m);
});

t.test('options that make no sense', { skip }, async (t) => {
  const { status, stderr } = run('--minutes', '0');
  t.equal(status, 1);
  t.match(stderr, /--minutes, --machines and --seed have to be above 0/);
});

t.test('a process that ends while it is looked at', async (t) => {
  const cause = new ProcessGoneError(1);
  t.match(reasonOf(cause), { name: 'MounterError', code: 'EDEAD', message: cause.message, cause });
});
