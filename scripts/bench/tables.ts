import type { Result } from './comparison.ts';
import { numberText } from './number-text.ts';
import type { Target } from './targets.ts';

/** Rows of text with a line under the first, as Markdown. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...rest] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n');
}

/** A table for each comparison: a row for each figure, a column for each contestant. */
export function resultTables(results: readonly Result[]): string {
  return distinct(results.map(({ comparison }) => comparison))
    .map((name) => {
      const found = results.filter(({ comparison }) => comparison === name);
      const contestants = distinct(found.map(({ contestant }) => contestant));
      const rows = distinct(found.map(titleOf)).map((title) => {
        const row = found.filter((each) => titleOf(each) === title);
        return [
          title,
          ...contestants.map((name) => cell(row.find(({ contestant }) => contestant === name))),
        ];
      });
      return `${name}\n\n${table([['', ...contestants], ...rows])}\n`;
    })
    .join('\n');
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)];
}

function titleOf({ title, unit }: Result): string {
  return unit === '' ? title : `${title}, ${unit}`;
}

/** The median, and in brackets the quartiles where they differ. */
function cell(result: Result | undefined): string {
  if (result === undefined) return '';
  const { median, quartiles } = result.summary;
  const [text, low, high] = [median, ...quartiles].map(numberText);
  return low === high ? `${text}` : `${text} (${low}–${high})`;
}

export function targetTable(targets: readonly Target[]): string {
  const rows = targets.map(({ figure, target, measured, isReached }) => [
    figure,
    target,
    measured,
    isReached ? 'yes' : 'no',
  ]);
  return table([['figure', 'target', 'measured', 'reached'], ...rows]);
}
