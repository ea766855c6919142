import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { mounterCommand } from '../../bin/container-disk-mounter-commands.ts';
import { commandModel } from '../../scripts/command-pages/command-model.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root });

/** Blocks of code in a language, each with its page. */
function blocks(language: string): { page: string; code: string }[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return pages.flatMap((page) =>
    Array.from(readFileSync(join(root, page), 'utf8').matchAll(pattern), ([, code = '']) => ({
      page,
      code,
    })),
  );
}

t.test('TypeScript compiles against the library', async (t) => {
  const project = temporaryDirectory(t);
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
  const found = blocks('ts');
  t.ok(found.length > 0);
  for (const [index, { code }] of found.entries()) {
    writeFileSync(join(project, `block-${index}.mts`), code);
  }
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        typeRoots: [join(root, 'node_modules/@types')],
        paths: { 'container-disk/mounter': [join(root, 'src/mounter/index.ts')] },
      },
      include: ['*.mts'],
    }),
  );
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', project], {
    encoding: 'utf8',
  });
  t.equal(status, 0, `${found.map(({ page }) => page).join(' ')}: ${stdout}`);
});

t.test('YAML and JSON can be read', async (t) => {
  for (const { page, code } of blocks('yaml')) {
    const problems = parseAllDocuments(code).flatMap(({ errors, warnings }) => [
      ...errors,
      ...warnings,
    ]);
    t.strictSame(problems, [], page);
  }
  for (const { page, code } of blocks('json')) {
    // Lines of a protocol are an object each.
    for (const line of code.trim().split(/\n(?=\{)/)) {
      t.doesNotThrow(() => JSON.parse(line), page);
    }
  }
});

t.test('shell commands can be read by a shell', async (t) => {
  const found = blocks('sh').filter(({ code }) => !/^container-disk .*\[/m.test(code));
  t.ok(found.length > 5);
  for (const { page, code } of found) {
    const plain = code.replace(/\[[A-Z-][^\]\n]*\]/g, '');
    const { status, stderr } = spawnSync('sh', ['-n'], { input: plain, encoding: 'utf8' });
    t.equal(status, 0, `${page}: ${stderr}`);
  }
});

t.test('the page of the mounter names every command and every common option', async (t) => {
  const text = readFileSync(join(root, 'docs/mounter.md'), 'utf8');
  const model = commandModel(mounterCommand(async () => {}));
  for (const { name } of model.commands) t.match(text, new RegExp(`\`${name}[ \`]`), name);
  for (const { flags } of model.options) {
    const long = flags.at(-1) ?? '';
    if (long !== '--version')
      t.ok(
        flags.some((flag) => text.includes(`\`${flag}`)),
        long,
      );
  }
});
