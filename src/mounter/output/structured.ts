import { stringify } from 'yaml';

/** How results are printed. */
export type OutputFormat = 'table' | 'json' | 'yaml';

/** Results as a table for people, or as JSON or YAML for programs; errors with their code and message. */
export function formatted(format: OutputFormat, value: unknown, table: () => string): string {
  if (format === 'table') return table();
  const plain: unknown = JSON.parse(JSON.stringify(value, errorsAsObjects));
  return format === 'json' ? `${JSON.stringify(plain, undefined, 2)}\n` : stringify(plain);
}

function errorsAsObjects(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const code = 'code' in value ? { code: value.code } : {};
  return { name: value.name, ...code, message: value.message };
}
