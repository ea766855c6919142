import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A place where an error is made: the class, its code, and what its message looks like. */
export interface ErrorMessage {
  readonly className: string;
  /** Undefined where it is not written there: the error takes it from another. */
  readonly code: string | undefined;
  /** `…` stands for what is put in. */
  readonly message: string;
  /** Path in the repository. */
  readonly file: string;
}

const root = join(import.meta.dirname, '../..');

/** Every `new SomethingError(…)` of a folder's TypeScript files. */
export function errorMessages(folder: string): ErrorMessage[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .flatMap((name) => messagesOf(join(folder, name)));
}

function messagesOf(file: string): ErrorMessage[] {
  const text = readFileSync(join(root, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: ErrorMessage[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && ts.isIdentifier(node.expression)) {
      const className = node.expression.text;
      if (/^[A-Z]\w*Error$/.test(className)) {
        const [first, second] = node.arguments ?? [];
        const code = first && ts.isStringLiteral(first) ? first.text : undefined;
        const isCode = code !== undefined && /^E[A-Z0-9]+$/.test(code);
        const message = isCode ? second : first;
        found.push({
          className,
          code: isCode ? code : undefined,
          message: message ? shapeOf(message) : '',
          file,
        });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** A message without what is put into it. */
function shapeOf(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
  }
  return '…';
}
