import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { appears, knock, program, Run } from '../support/holder.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { tmpfs } from '../support/tmpfs.ts';

const sum = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const original = sum(program);

t.test('copies itself', async (t) => {
  t.test('to a path, twice', async (t) => {
    const destination = join(temporaryDirectory(t), 'container-disk');
    t.match(await new Run(t, ['copy', destination]).ended, { code: 0, stdout: '', stderr: '' });
    t.equal(sum(destination), original);
    const before = statSync(destination);
    t.equal(before.mode & 0o7777, 0o755);
    t.match(await new Run(t, ['copy', destination]).ended, { code: 0, stderr: '' });
    const after = statSync(destination);
    t.equal(after.ino, before.ino, 'the same content stays');
    t.equal(after.mtimeMs, before.mtimeMs);
  });

  t.test('into a directory, which may be given with a slash', async (t) => {
    for (const slash of ['', '/']) {
      const directory = temporaryDirectory(t);
      t.match(await new Run(t, ['copy', directory + slash]).ended, { code: 0 });
      t.strictSame(readdirSync(directory), ['container-disk']);
    }
  });

  t.test('over other content of the same and of another size, and over a lost mode', async (t) => {
    const destination = join(temporaryDirectory(t), 'container-disk');
    writeFileSync(destination, 'something else');
    t.match(await new Run(t, ['copy', destination]).ended, { code: 0 });
    t.equal(sum(destination), original);
    const { size } = statSync(destination);
    writeFileSync(destination, 'x');
    truncateSync(destination, size);
    t.match(await new Run(t, ['copy', destination]).ended, { code: 0 });
    t.equal(sum(destination), original);
    const { ino } = statSync(destination);
    chmodSync(destination, 0o600);
    t.match(await new Run(t, ['copy', destination]).ended, { code: 0 });
    t.equal(statSync(destination).mode & 0o7777, 0o755);
    t.equal(statSync(destination).ino, ino);
  });

  t.test('onto a program that runs from there', async (t) => {
    const directory = temporaryDirectory(t);
    const destination = join(directory, 'container-disk');
    copyFileSync(program, destination);
    execFileSync('sh', ['-c', 'echo >> "$1"', 'sh', destination]);
    const run = new Run(t, ['--copy-path', join(directory, 'disk_0')], { command: [destination] });
    await appears(join(directory, 'disk_0.sock'), run);
    t.match(await new Run(t, ['copy', destination]).ended, { code: 0, stderr: '' });
    t.equal(sum(destination), original);
    t.equal(await knock(join(directory, 'disk_0.sock')), 'accepted');
  });

  t.test('does not write through a link', async (t) => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'precious'), 'precious');
    symlinkSync('precious', join(directory, 'container-disk'));
    t.match(await new Run(t, ['copy', join(directory, 'container-disk')]).ended, { code: 0 });
    t.equal(readFileSync(join(directory, 'precious'), 'utf8'), 'precious');
    t.ok(lstatSync(join(directory, 'container-disk')).isFile());
    linkSync(join(directory, 'precious'), join(directory, 'hard'));
    t.match(await new Run(t, ['copy', join(directory, 'hard')]).ended, { code: 0 });
    t.equal(readFileSync(join(directory, 'precious'), 'utf8'), 'precious');
  });

  t.test('refuses what is not a file', async (t) => {
    const directory = temporaryDirectory(t);
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    t.match(await new Run(t, ['copy', join(directory, 'pipe')]).ended, {
      code: 1,
      stderr: /cannot copy to .*pipe: something that is not a regular file is there/,
    });
    t.match(await new Run(t, ['copy', join(directory, 'missing/container-disk')]).ended, {
      code: 1,
      stderr: /cannot open the directory .*missing: no such file or directory \(ENOENT\)/,
    });
    t.strictSame(readdirSync(directory), ['pipe']);
  });

  t.test('takes away what a killed copy left', async (t) => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, '.container-disk.copying-old'), 'half');
    t.match(await new Run(t, ['copy', directory]).ended, { code: 0 });
    t.strictSame(readdirSync(directory), ['container-disk']);
  });

  t.test('several at once onto one path', async (t) => {
    const destination = join(temporaryDirectory(t), 'container-disk');
    const runs = Array.from({ length: 4 }, () => new Run(t, ['copy', destination]).ended);
    for (const { code, stderr } of await Promise.all(runs)) t.equal(code, 0, stderr);
    t.equal(sum(destination), original);
    t.strictSame(readdirSync(join(destination, '..')), ['container-disk']);
  });
});

t.test('under the name cp', async (t) => {
  const directory = temporaryDirectory(t);
  const cp = join(directory, 'cp');
  symlinkSync(program, cp);
  t.match(await new Run(t, [program, join(directory, 'one')], { command: [cp] }).ended, {
    code: 0,
    stderr: '',
  });
  t.equal(sum(join(directory, 'one')), original);
  mkdirSync(join(directory, 'into'));
  writeFileSync(join(directory, 'small'), 'small');
  t.match(
    await new Run(t, [join(directory, 'small'), join(directory, 'into')], { command: [cp] }).ended,
    { code: 0 },
  );
  t.equal(readFileSync(join(directory, 'into/small'), 'utf8'), 'small');
  for (const [argv, why] of [
    [[], /missing required argument 'source'/],
    [[program], /missing required argument 'destination'/],
    [
      [join(directory, 'nothing'), join(directory, 'two')],
      /cannot copy .*nothing to .*two: no such file or directory/,
    ],
    [[directory, join(directory, 'two')], /cannot copy .* to .*two: /],
  ] as const) {
    const { code, stderr } = await new Run(t, argv, { command: [cp] }).ended;
    t.equal(code, 1);
    t.match(stderr, /^container-disk: error: [^\n]+\n$/);
    t.match(stderr, why);
  }
  t.notOk(lstatSync(join(directory, 'two'), { throwIfNoEntry: false }));
});

t.test('file systems', { skip: skipUnless('root') }, async (t) => {
  t.test('a full one: a clear error, nothing left behind', async (t) => {
    const directory = tmpfs(t, 'size=20m');
    writeFileSync(join(directory, 'container-disk'), 'the old one');
    t.match(await new Run(t, ['copy', directory]).ended, {
      code: 1,
      stderr:
        /^container-disk: error: cannot copy .* to .*container-disk: no space left on device \(ENOSPC\)\n$/,
    });
    t.strictSame(readdirSync(directory), ['container-disk']);
    t.equal(readFileSync(join(directory, 'container-disk'), 'utf8'), 'the old one');
  });

  t.test('noexec: says that nothing could start there', async (t) => {
    const directory = tmpfs(t, 'noexec');
    t.match(await new Run(t, ['copy', directory]).ended, {
      code: 1,
      stderr:
        /^container-disk: error: cannot copy to .*container-disk: its file system is mounted noexec, .*\n$/,
    });
    t.strictSame(readdirSync(directory), []);
  });

  t.test('read-only', async (t) => {
    const directory = tmpfs(t, 'ro');
    t.match(await new Run(t, ['copy', directory]).ended, {
      code: 1,
      stderr: /read-only file system \(EROFS\)/,
    });
  });
});
