import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { checkStatic, findToolchain, relink } from '../../scripts/static-node/index.ts';
import { skipUnless } from '../support/requirements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const programs = join(import.meta.dirname, 'programs');

function run(program: string, root?: string) {
  const argv = root === undefined ? [program] : ['chroot', root, program];
  const [command = '', ...rest] = argv;
  return spawnSync(command, [...rest, 'argument'], {
    input: 'one\ntwo\n',
    encoding: 'utf8',
    env: { WORD: 'word', PATH: process.env['PATH'] },
  });
}

t.test('relinked programs do what the dynamic ones do', { skip: skipUnless('g++') }, async (t) => {
  const toolchain = await findToolchain();
  t.jobs = 2;
  for (const name of readdirSync(programs)) {
    for (const optimise of ['-O0', '-O2']) {
      t.test(`${name} ${optimise}`, { buffered: true }, async (t) => {
        const directory = temporaryDirectory(t);
        const dynamic = join(directory, 'dynamic');
        await promisify(execFile)('g++', [
          '-no-pie',
          optimise,
          '-pthread',
          '-o',
          dynamic,
          join(programs, name),
          '-latomic',
        ]);
        const relinked = join(directory, 'relinked');
        await relink(dynamic, relinked, { toolchain });
        checkStatic(relinked);
        const expected = run(dynamic);
        t.ok(expected.stdout.length > 0, 'the dynamic program says something');
        const { status, stdout, stderr, signal } = run(relinked);
        t.strictSame(
          { status, stdout, stderr, signal },
          {
            status: expected.status,
            stdout: expected.stdout,
            stderr: expected.stderr,
            signal: expected.signal,
          },
        );
        if (process.getuid?.() === 0) {
          mkdirSync(join(directory, 'root'));
          copyFileSync(relinked, join(directory, 'root/program'));
          t.equal(
            run('/program', join(directory, 'root')).stdout,
            expected.stdout,
            'in an empty root',
          );
        }
      });
    }
  }
});
