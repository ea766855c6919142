import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/**/*.md', 'test/**/*.md'], { cwd: root });

/** What of a page is prose, without blocks and spans of code. */
function prose(text: string): string {
  return text.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, 'code');
}

/** Anchors as GitHub makes them of headings. */
function anchors(path: string): Set<string> {
  const text = readFileSync(path, 'utf8').replace(/^```.*?^```$/gms, '');
  const seen = new Map<string, number>();
  return new Set(
    Array.from(text.matchAll(/^#{1,6} (.+)$/gm), ([, heading = '']) => {
      const slug = heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-');
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    }),
  );
}

t.test('every link of a page leads somewhere', async (t) => {
  t.ok(pages.length > 8);
  for (const page of pages) {
    const path = join(root, page);
    for (const [, target = ''] of prose(readFileSync(path, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) {
        t.match(target, /^https:\/\//, `${page}: ${target}`);
        continue;
      }
      const [file = '', anchor] = target.split('#');
      const linked = file === '' ? path : join(dirname(path), file);
      if (!t.ok(existsSync(linked), `${page}: ${target}`)) continue;
      t.notMatch(relative(root, linked), /^\.\./, `${page}: ${target} is in the repository`);
      if (anchor !== undefined) t.ok(anchors(linked).has(anchor), `${page}: ${target}`);
    }
  }
});

t.test('every page of docs can be reached from the README', async (t) => {
  const reached = new Set<string>();
  const visit = (page: string) => {
    if (reached.has(page)) return;
    reached.add(page);
    const text = prose(readFileSync(join(root, page), 'utf8'));
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g)) {
      if (!/^[a-z]+:/.test(target)) visit(relative(root, join(root, dirname(page), target)));
    }
  };
  visit('README.md');
  for (const page of pages.filter((each) => each.startsWith('docs/'))) {
    t.ok(reached.has(page), page);
  }
});

t.test('every file that a page names is there', async (t) => {
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, file = ''] of text.matchAll(/`((?:bin|docs|scripts|src|test)\/[\w./-]+)`/g)) {
      t.ok(statSync(join(root, file), { throwIfNoEntry: false }), `${page}: ${file}`);
    }
  }
});

t.test('every npm script that a page names is there', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, name = ''] of text.matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)) {
      t.ok(name in scripts, `${page}: npm run ${name}`);
    }
  }
});
