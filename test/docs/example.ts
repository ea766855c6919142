import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

const directory = join(import.meta.dirname, '../../docs/examples');

/** The object of a manifest; throws where the file is not exactly one YAML document without errors or warnings. */
export function example(name: string): object {
  const [document, more] = parseAllDocuments(readFileSync(join(directory, name), 'utf8'));
  if (document === undefined || more !== undefined) throw new Error(`${name} is not one document`);
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw problem;
  return document.toJS();
}
