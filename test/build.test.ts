import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { closeHoles } from '../scripts/build/close-holes.ts';
import { checkStatic } from '../scripts/static-node/check.ts';
import { program } from './support/holder.ts';
import { skipUnless } from './support/requirements.ts';

const root = join(import.meta.dirname, '..');
const sum = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

t.test('two builds give the same bytes', { skip: skipUnless('g++') }, async (t) => {
  const before = sum(program);
  const output = execFileSync(process.execPath, [join(root, 'scripts/build.ts')], {
    encoding: 'utf8',
  });
  t.equal(sum(program), before);
  for (const step of [
    'static Node.js',
    'bundle',
    'application blob',
    'inject',
    'strip',
    'verify',
    'dist/container-disk',
  ]) {
    t.match(output, new RegExp(`^${step} +\\d+ ms`, 'm'), `${step} is printed with its time`);
  }
});

t.test('the program', async (t) => {
  checkStatic(program);
  const { size, mode } = statSync(program);
  t.ok(size <= 85e6, `${size} bytes`);
  t.equal(mode & 0o7777, 0o755);
});

t.test('as file(1) and readelf(1) see it', { skip: skipUnless('readelf') }, async (t) => {
  const headers = execFileSync('readelf', ['-lW', program], { encoding: 'utf8' });
  t.notMatch(headers, /INTERP/);
  t.notMatch(headers, /DYNAMIC/);
  t.match(headers, /GNU_STACK .* RW /);
  t.notMatch(headers, /LOAD .* RWE /);
});

t.test('a file without holes stays as it is', async (t) => {
  const bytes = readFileSync(program);
  t.ok(closeHoles(bytes).equals(bytes));
});
