import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type ErrorMessage, errorMessages } from '../../scripts/errors-page/messages.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');

/** Of the language and of the libraries; those that are made here are for faults of the program itself. */
const general = new Set(['Error', 'RangeError', 'TypeError', 'CommanderError']);

const made = ['src', 'bin', 'scripts']
  .flatMap((folder) => errorMessages(folder))
  .filter(({ className }) => !general.has(className));

/** A message that says something of its own, and not only what another says. */
function isOwn({ message }: ErrorMessage): boolean {
  return /\p{L}/u.test(message);
}

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

/** The rows of the page's tables, as their cells. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));

t.test('every message of the source is on the page, beside its code', async (t) => {
  t.ok(made.length > 80);
  for (const each of made.filter(isOwn)) {
    const { code, message, file } = each;
    const found = rows.some(([first = '', second = '']) => {
      const isCode = code === undefined || first.split(' ').includes(code);
      return isCode && second.split('<br>').includes(`\`${message}\``);
    });
    const isInText = code === undefined && page.includes(`\`${message}\``);
    t.ok(found || isInText, `${code} ${message} (${file})`);
  }
});

t.test('every code and every class of the source is on the page', async (t) => {
  for (const { className, code, file } of made) {
    t.match(page, className, file);
    if (code !== undefined)
      t.ok(
        rows.some(([first = '']) => first.split(' ').includes(code)),
        code,
      );
  }
  for (const file of ['mounter-error.ts', 'disk/disk-refused-error.ts']) {
    const source = readFileSync(join(root, 'src/mounter', file), 'utf8');
    const codes = Array.from(source.matchAll(/^ {2}\| '(E\w+)'/gm), ([, code]) => code ?? '');
    t.ok(codes.length > 8, file);
    for (const code of codes)
      t.ok(
        rows.some(([first]) => first === code),
        code,
      );
  }
});

t.test('nothing else is on the page', async (t) => {
  const messages = new Set(made.map(({ message }) => message));
  // Where a class makes its own message, the source has it in the class.
  const classes = sources(join(root, 'src'))
    .filter((text) => /class \w+ extends Error/.test(text))
    .join('\n');
  for (const [, message = ''] of rows.filter(([first]) => first !== 'code')) {
    for (const part of message.split('<br>')) {
      const shape = /^`(.*)`$/.exec(part)?.[1];
      if (shape === undefined) continue;
      const isMade =
        messages.has(shape) || shape.split('…').every((piece) => classes.includes(piece));
      t.ok(isMade, shape);
    }
  }
  const codes = new Set(made.map(({ code }) => code));
  for (const [first = ''] of rows) {
    const code = /\bE[A-Z]+$/.exec(first)?.[0];
    if (code === undefined) continue;
    t.ok(codes.has(code) || classes.includes(`'${code}'`), code);
  }
});
