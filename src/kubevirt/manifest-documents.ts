import { parseAllDocuments } from 'yaml';
import { ManifestError } from './manifest-error.ts';
import { printable } from './printable.ts';

const mebibyte = 1024 * 1024;

/** Kubernetes stores no object of more than about 1.5 MiB; this has room for the machines of a node in one list. */
export const manifestLimit = 16 * mebibyte;

/** At the worst a mebibyte of YAML takes two seconds and half a gigabyte to read. */
export const yamlLimit = 4 * mebibyte;

/** How often an alias of YAML may lead to something, counted as the library does it, so that a few lines cannot become gigabytes. */
const maxAliasCount = 100;

/** The documents in a text that is JSON or a stream of YAML; empty ones are left out. */
export function manifestDocuments(text: string, source: string): unknown[] {
  const bytes = Buffer.byteLength(text);
  if (bytes > manifestLimit) throw tooBig(source);
  const reasons: string[] = [];
  try {
    if (/^\s*[{[]/.test(text)) return [JSON.parse(text)];
  } catch (error) {
    reasons.push(reason(error));
  }
  if (bytes > yamlLimit) throw tooBigForYaml(source, reasons);
  try {
    return parseYaml(text);
  } catch (error) {
    reasons.push(reason(error));
    const why = `is neither JSON nor YAML: ${reasons.join('; ')}`;
    throw new ManifestError('ESYNTAX', source, why, { cause: error });
  }
}

export function tooBig(source: string): ManifestError {
  const limit = `${manifestLimit / mebibyte} MiB`;
  return new ManifestError('ETOOBIG', source, `is larger than ${limit}, the most that is read`);
}

function tooBigForYaml(source: string, reasons: readonly string[]): ManifestError {
  const notJson = reasons.length > 0 ? ` (as JSON: ${reasons.join('; ')})` : '';
  return new ManifestError(
    'ETOOBIG',
    source,
    `is larger than ${yamlLimit / mebibyte} MiB, the most that is read of YAML${notJson}; as JSON it may have ${manifestLimit / mebibyte} MiB (kubectl get --output=json)`,
  );
}

/** Whether keys are unique is not asked of the library: it compares each with all before it. The last one counts, as in JSON. */
function parseYaml(text: string): unknown[] {
  const values = [];
  for (const document of parseAllDocuments(text, { uniqueKeys: false, logLevel: 'silent' })) {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const value: unknown = document.toJS({ maxAliasCount });
    if (value !== null && value !== undefined) values.push(value);
  }
  return values;
}

/** The first line of what a parser says; the lines after it show the text. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) throw error;
  if (error.message.startsWith('Maximum call stack size exceeded'))
    return 'it is nested too deeply';
  const [line = ''] = error.message.split('\n');
  return printable(line.replace(/:$/, ''));
}
