import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../../scripts/demo/holder.ts';
import { appears, knock, Run } from '../support/holder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

t.test('holds the socket and lets go of it', async (t) => {
  t.test('makes all levels of the parent directory', async (t) => {
    const directory = join(temporaryDirectory(t), 'a/b/c');
    const run = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
    await appears(join(directory, 'disk_0.sock'), run);
    // The name is given by link(2), and the temporary one taken away after that.
    await until(() => readdirSync(directory).length === 1);
    t.strictSame(readdirSync(directory), ['disk_0.sock'], 'no temporary name is left');
    t.equal(await knock(join(directory, 'disk_0.sock')), 'accepted');
  });

  t.test('mode is 0777 less umask', async (t) => {
    const directory = temporaryDirectory(t);
    const run = new Run(t, ['-c', 'disk_0'], {
      cwd: directory,
      command: [
        'sh',
        '-c',
        `umask 027; exec ${join(import.meta.dirname, '../../dist/container-disk')} "$@"`,
        'sh',
      ],
    });
    await appears(join(directory, 'disk_0.sock'), run);
    t.equal(lstatSync(join(directory, 'disk_0.sock')).mode & 0o777, 0o750);
  });

  for (const [name, remove] of [
    ['removed', (socket: string) => unlinkSync(socket)],
    ['renamed', (socket: string) => renameSync(socket, `${socket}.old`)],
    [
      'replaced by another file',
      (socket: string) => {
        writeFileSync(`${socket}.new`, 'another');
        renameSync(`${socket}.new`, socket);
      },
    ],
    ['its directory removed', (socket: string) => rmSync(join(socket, '..'), { recursive: true })],
    [
      'its directory renamed',
      (socket: string) => renameSync(join(socket, '..'), join(socket, '../../moved')),
    ],
  ] as const) {
    t.test(`exits 0 when the socket is ${name}`, async (t) => {
      const directory = join(temporaryDirectory(t), 'container-disks');
      const socket = join(directory, 'disk_0.sock');
      const run = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
      await appears(socket, run);
      t.equal(await knock(socket), 'accepted');
      remove(socket);
      const { code, stderr } = await run.ended;
      t.equal(code, 0);
      t.match(
        stderr,
        /^container-disk: the socket .*disk_0\.sock is gone, it is no longer held\n$/,
      );
      if (name === 'replaced by another file') t.equal(readFileSync(socket, 'utf8'), 'another');
    });
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    t.test(`${signal} removes the socket and exits 0`, async (t) => {
      const directory = temporaryDirectory(t);
      const run = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
      await appears(join(directory, 'disk_0.sock'), run);
      run.child.kill(signal);
      t.match(await run.ended, { code: 0, signal: null, stderr: '' });
      t.strictSame(readdirSync(directory), []);
    });
  }

  t.test('SIGTERM leaves what has taken the place of the socket', async (t) => {
    const directory = temporaryDirectory(t);
    const socket = join(directory, 'disk_0.sock');
    const run = new Run(t, ['-c', join(directory, 'disk_0'), '-c', join(directory, 'disk_1')]);
    await appears(join(directory, 'disk_1.sock'), run);
    process.kill(run.pid, 'SIGSTOP');
    unlinkSync(socket);
    writeFileSync(socket, 'another');
    process.kill(run.pid, 'SIGTERM');
    process.kill(run.pid, 'SIGCONT');
    t.match(await run.ended, { code: 0 });
    t.strictSame(readdirSync(directory), ['disk_0.sock']);
    t.equal(readFileSync(socket, 'utf8'), 'another');
  });
});

t.test('recovers after SIGKILL', async (t) => {
  const directory = temporaryDirectory(t);
  const socket = join(directory, 'disk_0.sock');
  for (let start = 0; start < 3; start += 1) {
    const run = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
    await t.resolves(
      (async () => {
        while ((await knock(socket)) !== 'accepted') {
          if (run.child.exitCode !== null) throw new Error(run.stderr);
        }
      })(),
    );
    run.child.kill('SIGKILL');
    await run.ended;
    t.ok(existsSync(socket), 'the stale socket is left');
    t.equal(await knock(socket), 'ECONNREFUSED');
  }
  t.strictSame(readdirSync(directory), ['disk_0.sock']);
});

t.test('a killed start leaves no temporary name behind after the next', async (t) => {
  const directory = temporaryDirectory(t);
  const first = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
  await appears(join(directory, 'disk_0.sock'), first);
  const names = new Set<string>();
  // A stopped rename would be seen here: the listening socket has its temporary name for an instant only.
  first.child.kill('SIGKILL');
  await first.ended;
  const left = join(directory, `.container-disk-${fnv1a('disk_0.sock')}-left`);
  renameSync(join(directory, 'disk_0.sock'), left);
  const other = join(directory, '.container-disk-00000000-other');
  writeFileSync(other, '');
  const second = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
  await appears(join(directory, 'disk_0.sock'), second);
  // The temporary name goes right after the socket has its own, and before it accepts.
  t.equal(await knock(join(directory, 'disk_0.sock')), 'accepted');
  for (const name of readdirSync(directory)) names.add(name);
  t.strictSame([...names].sort(), ['.container-disk-00000000-other', 'disk_0.sock']);
});

function fnv1a(name: string): string {
  let hash = 0x811c9dc5n;
  for (const byte of Buffer.from(name)) hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  return hash.toString(16).padStart(8, '0');
}

t.test('what is at the path already', async (t) => {
  const refused = async (t: import('tap').Test, directory: string, why: RegExp) => {
    const { code, stderr, stdout } = await new Run(t, ['-c', join(directory, 'disk_0')]).ended;
    t.equal(code, 1);
    t.equal(stdout, '');
    t.match(stderr, why);
    t.equal(stderr.split('\n').length, 2, 'one line');
  };

  t.test('a listening socket is left to its owner', async (t) => {
    const directory = temporaryDirectory(t);
    const socket = join(directory, 'disk_0.sock');
    const server = createServer((connection) => connection.end()).listen(socket);
    t.teardown(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const before = lstatSync(socket);
    await refused(
      t,
      directory,
      /error: cannot make the socket .*disk_0\.sock: another process listens on it/,
    );
    t.equal(lstatSync(socket).ino, before.ino);
    t.equal(await knock(socket), 'accepted', 'it still serves');
    t.strictSame(readdirSync(directory), ['disk_0.sock']);
  });

  t.test('a regular file', async (t) => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'disk_0.sock'), 'precious');
    await refused(t, directory, /a regular file is there already, and is left as it is/);
    t.equal(readFileSync(join(directory, 'disk_0.sock'), 'utf8'), 'precious');
    t.strictSame(readdirSync(directory), ['disk_0.sock']);
  });

  t.test('a directory', async (t) => {
    const directory = temporaryDirectory(t);
    mkdirSync(join(directory, 'disk_0.sock'));
    await refused(t, directory, /a directory is there already/);
    t.ok(lstatSync(join(directory, 'disk_0.sock')).isDirectory());
  });

  t.test('a symbolic link, also to a stale socket', async (t) => {
    const directory = temporaryDirectory(t);
    const other = join(directory, 'other.sock');
    const holder = new Run(t, ['-c', join(directory, 'other')]);
    await appears(other, holder);
    holder.child.kill('SIGKILL');
    await holder.ended;
    symlinkSync('other.sock', join(directory, 'disk_0.sock'));
    await refused(t, directory, /a symbolic link is there already/);
    t.ok(lstatSync(join(directory, 'disk_0.sock')).isSymbolicLink());
    t.ok(lstatSync(other).isSocket(), 'what it points at is left');
  });

  t.test('a named pipe does not make it wait', async (t) => {
    const directory = temporaryDirectory(t);
    execFileSync('mkfifo', [join(directory, 'disk_0.sock')]);
    await refused(t, directory, /a named pipe is there already/);
  });

  t.test('the same path given twice', async (t) => {
    const directory = temporaryDirectory(t);
    const path = join(directory, 'disk_0');
    const { code, stderr } = await new Run(t, ['-c', path, '-c', path]).ended;
    t.equal(code, 1);
    t.match(stderr, /listens on it/);
    t.strictSame(readdirSync(directory), [], 'what was made is removed again');
  });
});

t.test('long paths', async (t) => {
  t.test('a copy path of 300 bytes and one near PATH_MAX', async (t) => {
    for (const length of [300, 4000]) {
      let directory = temporaryDirectory(t);
      while (directory.length < length) directory = join(directory, 'd'.repeat(50));
      const run = new Run(t, ['--copy-path', join(directory, 'disk_0')]);
      await appears(join(directory, 'disk_0.sock'), run);
      t.equal(await knockFrom(directory, 'disk_0.sock'), 'accepted');
      unlinkSync(join(directory, 'disk_0.sock'));
      t.match(await run.ended, { code: 0 });
    }
  });

  t.test('the longest last name works, one byte more is refused', async (t) => {
    const directory = temporaryDirectory(t);
    const longest = 'n'.repeat(107 - '.sock'.length);
    const run = new Run(t, ['--copy-path', join(directory, longest)]);
    await appears(join(directory, `${longest}.sock`), run);
    t.equal(await knockFrom(directory, `${longest}.sock`), 'accepted');
    for (const name of [`${longest}n`, 'n'.repeat(200)]) {
      const { code, stderr } = await new Run(t, ['--copy-path', join(directory, name)]).ended;
      t.equal(code, 1);
      t.match(
        stderr,
        /error: cannot use the copy path .*: its last name with \.sock is \d+ bytes long, a socket's name can have 107\n$/,
      );
    }
    t.strictSame(readdirSync(directory), [`${longest}.sock`]);
  });
});

/** Connects by a name alone, from within the directory, as sun_path holds no more than that. */
async function knockFrom(directory: string, name: string): Promise<string> {
  const before = process.cwd();
  process.chdir(directory);
  try {
    return await knock(name);
  } finally {
    process.chdir(before);
  }
}

t.test('several sockets in one process', async (t) => {
  const directory = temporaryDirectory(t);
  const names = ['one/a', 'one/b', 'two/c'];
  const sockets = names.map((name) => join(directory, `${name}.sock`));
  const start = () =>
    new Run(
      t,
      names.flatMap((name) => ['--copy-path', join(directory, name)]),
    );
  const run = start();
  for (const socket of sockets) await appears(socket, run);
  for (const socket of sockets) {
    for (const other of sockets) {
      if (existsSync(other)) t.equal(await knock(other), 'accepted');
    }
    t.equal(run.child.exitCode, null);
    unlinkSync(socket);
    while (socket !== sockets.at(-1) && !run.stderr.includes(`${socket} is gone`)) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  t.match(await run.ended, { code: 0 });

  const again = start();
  for (const socket of sockets) await appears(socket, again);
  again.child.kill('SIGTERM');
  t.match(await again.ended, { code: 0, stderr: '' });
  t.strictSame(sockets.filter(existsSync), [], 'SIGTERM removes all');

  chmodSync(directory, 0o755);
  writeFileSync(sockets[2] ?? '', 'precious');
  t.match(await start().ended, { code: 1 });
  t.strictSame(
    sockets.filter(existsSync),
    sockets.slice(2),
    'a failure removes those already made',
  );
});
