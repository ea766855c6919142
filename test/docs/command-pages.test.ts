import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');
const completion = join(root, 'docs/completion');
const commands = ['container-disk', 'container-disk-mounter'] as const;
const pages = ['container-disk.1', 'container-disk-mounter.8'].map((name) =>
  join(root, 'docs/man', name),
);

t.test('they are those of the definitions', async (t) => {
  const output = temporaryDirectory(t);
  execFileSync(process.execPath, [join(root, 'scripts/command-pages.ts'), '--output', output]);
  for (const folder of ['man', 'completion']) {
    const { status, stdout } = spawnSync(
      'diff',
      ['-r', join(root, 'docs', folder), join(output, folder)],
      { encoding: 'utf8' },
    );
    t.equal(status, 0, `npm run command-pages makes them anew: ${stdout}`);
  }
});

t.test('manual pages: mandoc', { skip: skipUnless('mandoc') }, async (t) => {
  for (const page of pages) {
    const { status, stdout, stderr } = spawnSync('mandoc', ['-T', 'lint', page], {
      encoding: 'utf8',
    });
    t.strictSame([status, stdout, stderr], [0, '', '']);
  }
});

t.test('manual pages: man and groff', { skip: skipUnless('man', 'groff') }, async (t) => {
  for (const page of pages) {
    const groff = spawnSync('groff', ['-man', '-ww', '-Tutf8', page], { encoding: 'utf8' });
    t.strictSame([groff.status, groff.stderr], [0, '']);
    const man = spawnSync('man', ['--warnings', '--local-file', page], {
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8' },
    });
    t.strictSame([man.status, man.stderr], [0, '']);
    t.match(man.stdout, /^SYNOPSIS$/m);
    t.match(man.stdout, /--(copy-path path|kubelet-dir dir)$/m);
  }
});

/** What bash offers for the last of the words. */
function bash(words: readonly string[]): string[] {
  const script = `source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
"_\${1//-/_}"
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const file = join(completion, `${words[0]}.bash`);
  return execFileSync('bash', ['--norc', '-c', script, 'bash', file, ...words], {
    encoding: 'utf8',
    cwd: root,
  })
    .split('\n')
    .filter(Boolean);
}

t.test('bash', async (t) => {
  for (const name of commands) execFileSync('bash', ['-n', join(completion, `${name}.bash`)]);
  const mounter = (...words: string[]) => bash(['container-disk-mounter', ...words]);
  t.strictSame(mounter('un'), ['unmount']);
  t.match(mounter(''), [
    'list',
    'inspect',
    'ready',
    'mount',
    'unmount',
    'checksum',
    'verify',
    'gc',
  ]);
  t.strictSame(mounter('-o', ''), ['table', 'json', 'yaml']);
  t.strictSame(mounter('--output', '=', 'j'), ['json']);
  t.strictSame(mounter('--output', '='), ['table', 'json', 'yaml']);
  t.strictSame(mounter('-o', 'json', 'mount', '--so'), ['--source-pod', '--socket-timeout']);
  t.strictSame(mounter('--strategy', '=', 'auto', 'unmount', '--al'), ['--all']);
  t.strictSame(mounter('gc', '--al'), [], 'only unmount has it');
  t.strictSame(mounter('mount', '-f', 'package.'), ['package.json']);
  t.strictSame(mounter('--state-dir', 'doc'), ['docs']);
  t.strictSame(mounter('--owner', ''), []);
  t.strictSame(bash(['container-disk', '--no']), ['--no-op']);
  t.strictSame(bash(['container-disk', 'copy', 'READ']), ['README.md']);
});

t.test('fish', { skip: skipUnless('fish') }, async (t) => {
  const fish = (line: string) => {
    const file = join(completion, `${line.split(' ')[0]}.fish`);
    const script = 'source $argv[1]; complete -C $argv[2]';
    const offered = execFileSync('fish', ['--no-config', '-c', script, file, line], {
      encoding: 'utf8',
      cwd: root,
    });
    return offered
      .split('\n')
      .filter(Boolean)
      .map((each) => each.split('\t')[0]);
  };
  for (const name of commands) execFileSync('fish', ['-n', join(completion, `${name}.fish`)]);
  t.strictSame(fish('container-disk-mounter un'), ['unmount']);
  t.strictSame(fish('container-disk-mounter -o '), ['json', 'table', 'yaml']);
  t.strictSame(fish('container-disk-mounter mount --source'), ['--source-pod']);
  t.strictSame(fish('container-disk-mounter gc --source'), []);
  t.strictSame(fish('container-disk-mounter mount -f package.'), ['package.json']);
  t.strictSame(fish('container-disk --no'), ['--no-op']);
});

/** Types a line and the tabulator in an interactive zsh, and reads until it shows what is expected. */
const zshSession = `
zmodload zsh/zpty
zpty shell "zsh -f -i"
zpty -w shell "PS1='> '; fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; print rea''dy"
zpty -r shell shown '*ready*' || exit 1
zpty -w -n shell $2$'\\t\\t'
zpty -r shell shown "*$3*" || exit 1
zpty -d shell
`;

t.test('zsh', { skip: skipUnless('zsh') }, async (t) => {
  for (const name of commands) execFileSync('zsh', ['-n', join(completion, `_${name}`)]);
  for (const [typed, shown] of [
    ['container-disk-mounter un', 'unmount'],
    ['container-disk-mounter -o j', 'json'],
    ['container-disk-mounter mount --sour', '--source-pod'],
    ['container-disk-mounter mount -f package.', 'package.json'],
    ['container-disk --no', '--no-op'],
  ] as const) {
    const { status, signal } = spawnSync(
      'zsh',
      ['-f', '-c', zshSession, 'zsh', completion, typed, shown],
      {
        timeout: 60_000,
        cwd: root,
        env: { PATH: process.env['PATH'], TERM: 'dumb', HOME: temporaryDirectory(t) },
      },
    );
    t.strictSame([status, signal], [0, null], `${typed} → ${shown}`);
  }
});
