import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type CgroupVersion, hasDeviceCgroups } from '../../scripts/demo/pod-cgroup.ts';
import { skipUnless } from '../support/requirements.ts';
import { commands, runWith } from './commands.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'losetup', 'cgroup2 mount');
const document = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8');

/** The capabilities that the table says of a command, by what the row calls it. */
const table = new Map(
  Array.from(document.matchAll(/^\| `([^`]+)`([^|]*)\|((?: `CAP_[A-Z_]+`,?)+) \|/gm), (row) => {
    const [, command = '', more = '', capabilities = ''] = row;
    return [`${command}${more.trimEnd()}`, capabilities.match(/CAP_[A-Z_]+/g) ?? []] as const;
  }),
);

/** Each version is tried for the rows that name it; those that name none for one of them. */
const suffix = / \(cgroup (v1|v2)\)$/;

t.setTimeout(300_000);

for (const version of ['v1', 'v2'] as const satisfies readonly CgroupVersion[]) {
  const rows = [...table.keys()].filter((row) => (suffix.exec(row)?.[1] ?? 'v2') === version);
  t.test(`on cgroup ${version}`, { skip: skip || !hasDeviceCgroups(version) }, async (t) => {
    t.ok(rows.length > 1, rows.join('; '));
    const known = await commands(t, version);
    for (const row of rows) {
      const needed = table.get(row) ?? [];
      const command = known[row.replace(suffix, '')];
      if (command === undefined) {
        t.fail(`no test does what the table calls ${row}`);
        continue;
      }
      t.ok(await runWith(command, needed), `${row} with ${needed.join(', ')}`);
      for (const left of needed) {
        const others = needed.filter((name) => name !== left);
        t.notOk(await runWith(command, others), `${row} without ${left}`);
      }
    }
    if (version === 'v2') {
      const named = rows.map((row) => row.replace(suffix, ''));
      t.strictSame(Object.keys(known).sort(), named.sort(), 'the table has all commands');
    }
  });
}
