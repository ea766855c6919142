import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..');

/** Which folders a folder may import from; itself always. docs/architecture.md says why. */
const allowed: Record<string, readonly string[]> = {
  bin: ['src/holder', 'src/mounter', 'src/kubevirt', 'src/kernel'],
  'src/holder': ['src/kernel'],
  'src/mounter': ['src/kubevirt', 'src/kernel'],
  'src/kubevirt': [],
  'src/kernel': [],
};

const files = Object.keys(allowed).flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

function imports(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'([^']+)'/g);
  return Array.from(found, ([, name]) => name ?? '');
}

/** The files of the repository that a file imports. */
function imported(file: string): string[] {
  return imports(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(root, resolve(root, dirname(file), name)));
}

function folderOf(file: string): string {
  return Object.keys(allowed).find((folder) => file.startsWith(`${folder}/`)) ?? '';
}

t.test('imports run one way', async (t) => {
  t.ok(files.length > 10);
  for (const file of files) {
    const folder = folderOf(file);
    for (const target of imported(file)) {
      const isAllowed =
        target === 'package.json' ||
        folderOf(target) === folder ||
        allowed[folder]?.includes(folderOf(target));
      t.ok(isAllowed, `${file} imports ${target}`);
    }
  }
});

t.test('no circles', async (t) => {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) t.fail(`a circle: ${[...path, file].join(' → ')}`);
    if (done.has(file) || path.includes(file)) return;
    for (const target of imported(file)) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  t.ok(done.size >= files.length);
});

t.test('what the holder loads', async (t) => {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const target of imported(file)) if (target.endsWith('.ts')) visit(target);
  };
  visit('bin/container-disk.ts');
  t.ok(reached.size > 5);
  for (const file of reached) {
    for (const name of imports(file).filter((name) => !name.startsWith('.'))) {
      t.ok(isBuiltin(name) || name === 'commander', `${file} imports ${name}`);
    }
  }
});

t.test('only src/kernel touches the foreign functions', async (t) => {
  for (const file of files) {
    if (folderOf(file) === 'src/kernel') continue;
    t.notOk(imports(file).includes('koffi'), file);
  }
});
