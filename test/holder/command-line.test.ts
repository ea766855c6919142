import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import packageJson from '../../package.json' with { type: 'json' };
import { plainCommand } from '../../src/holder/plain-command.ts';
import { socketPath } from '../../src/holder/socket-path.ts';
import { appears, program, Run } from '../support/holder.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

t.test('what does nothing exits 0', async (t) => {
  for (const argv of [
    ['--no-op'],
    ['hold', '--no-op'],
    ['--no-op', 'hold'],
    ['--no-op', '-c', 'x'],
  ]) {
    const directory = temporaryDirectory(t);
    t.match(await new Run(t, argv, { cwd: directory }).ended, { code: 0, stdout: '', stderr: '' });
    t.strictSame(readdirSync(directory), []);
  }
});

t.test('--help and --version', async (t) => {
  t.match(await new Run(t, ['--version']).ended, {
    code: 0,
    stdout: `${packageJson.version}\n`,
    stderr: '',
  });
  const { code, stdout, stderr } = await new Run(t, ['--help']).ended;
  t.equal(code, 0);
  t.equal(stderr, '');
  for (const word of ['--copy-path', '--no-op', 'copy', 'hold']) t.match(stdout, word);
  t.match(await new Run(t, ['hold', '--help']).ended, { code: 0, stdout: /--copy-path/ });
});

t.test('--copy-path works in every place', async (t) => {
  for (const argv of [
    ['--copy-path', 'disk_0'],
    ['--copy-path=disk_0'],
    ['-c', 'disk_0'],
    ['-cdisk_0'],
    ['hold', '--copy-path', 'disk_0'],
    ['--copy-path', 'disk_0', 'hold'],
  ]) {
    const directory = temporaryDirectory(t);
    const run = new Run(t, argv, { cwd: directory });
    await appears(join(directory, 'disk_0.sock'), run);
    run.child.kill('SIGTERM');
    t.match(await run.ended, { code: 0, stderr: '' }, argv.join(' '));
  }
});

t.test('every failure is one line and exit code 1', async (t) => {
  const cases: [argv: string[], why: RegExp][] = [
    [[], /nothing to do: give --copy-path PATH or --no-op/],
    [['--unknown'], /unknown option '--unknown'/],
    [['--copy-pathh', 'x'], /unknown option '--copy-pathh'/],
    [['unknown'], /unknown command unknown/],
    [['--copy-path'], /option '-c, --copy-path <path>' argument missing/],
    [['-c', 'x', '-c'], /argument missing/],
    [['--copy-path', ''], /cannot use the copy path: it is empty/],
    [['--copy-path', 'x/'], /cannot use the copy path x\/: it ends in a slash/],
    [
      ['--copy-path', '/proc/nothing/disk_0'],
      /cannot make the directory \/proc\/nothing: no such file or directory \(ENOENT\)/,
    ],
    [
      ['--copy-path', `${program}/disk_0`],
      /cannot open the directory .*: not a directory \(ENOTDIR\)/,
    ],
    [['--copy-path', `/tmp/${'d'.repeat(256)}/disk_0`], /name too long \(ENAMETOOLONG\)/],
    [['--copy-path', `/tmp${'/d'.repeat(2100)}/disk_0`], /a path can have 4095/],
    [['copy'], /missing required argument 'destination'/],
    [['copy', ''], /cannot copy: the destination is empty/],
    [['copy', 'a', 'b'], /too many arguments for 'copy'/],
    [['copy', '--copy-path', 'x', 'y'], /copy takes no --copy-path/],
  ];
  for (const [argv, why] of cases) {
    const directory = temporaryDirectory(t);
    const { code, stdout, stderr } = await new Run(t, argv, { cwd: directory }).ended;
    t.equal(code, 1, argv.join(' ').slice(0, 60));
    t.equal(stdout, '');
    t.match(stderr, /^container-disk: error: [^\n]+\n$/);
    t.match(stderr, why);
    t.strictSame(readdirSync(directory), []);
  }
});

t.test('a directory that cannot be written', { skip: skipUnless('root', 'setpriv') }, async (t) => {
  const argv = ['--copy-path', '/proc/1/disk_0'];
  const { code, stderr } = await new Run(t, argv).ended;
  t.equal(code, 1);
  t.match(
    stderr,
    /^container-disk: error: cannot make the socket \/proc\/1\/disk_0\.sock: [^\n]+\n$/,
  );
});

t.test('names that would break a line of the log are escaped', async (t) => {
  const directory = temporaryDirectory(t);
  const { code, stderr } = await new Run(t, ['--copy-path', `${directory}/a\nb\u001b[31m/`]).ended;
  t.equal(code, 1);
  t.match(stderr, /a\\u\{a\}b\\u\{1b\}\[31m/);
  t.equal(stderr.split('\n').length, 2);
  t.notOk(existsSync(`${directory}/a\nb`));
});

t.test('a path with a NUL byte, which no command line can hold', async (t) => {
  t.throws(() => socketPath('/p/di\0sk'), { code: 'EPATH', message: /holds a NUL byte/ });
});

t.test('which command lines are read without commander', async (t) => {
  const name = 'container-disk';
  t.strictSame(plainCommand(name, ['--no-op']), { kind: 'no-op' });
  t.strictSame(plainCommand(name, ['-c', 'a', '--copy-path', '--no-op']), {
    kind: 'hold',
    copyPaths: ['a', '--no-op'],
  });
  t.strictSame(plainCommand('cp', ['a', 'b']), { kind: 'copy', source: 'a', destination: 'b' });
  for (const argv of [
    [],
    ['-c'],
    ['-c', 'a', '--no-op'],
    ['--copy-path=a'],
    ['hold'],
    ['--help'],
    ['a', 'b'],
  ]) {
    t.equal(plainCommand(name, argv), undefined, argv.join(' '));
  }
  for (const argv of [[], ['a'], ['--help'], ['a', 'b', 'c'], ['-a', 'b'], ['a', '--no-op']]) {
    t.equal(plainCommand('cp', argv), undefined, `cp ${argv.join(' ')}`);
  }
});
