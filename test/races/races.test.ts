import { join } from 'node:path';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'g++', 'losetup', 'cgroup2 mount');

/** How many mounts and unmounts; `CONTAINER_DISK_RACES=2000` for a long run. */
const rounds = process.env['CONTAINER_DISK_RACES'] ?? '60';

t.setTimeout(3_600_000);

t.test('tenants that swap whatever they can reach', { skip }, async (t) => {
  const race = join(import.meta.dirname, 'race.ts');
  const namespace = ['--mount', '--propagation', 'private'];
  await t.spawn('unshare', [...namespace, process.execPath, race, rounds], {
    timeout: 3_600_000,
  });
});
