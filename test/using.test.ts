import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import t from 'tap';
import ts from 'typescript';

const root = join(import.meta.dirname, '..');

/**
 * `using` releases when its function returns, and a function that returns a promise has returned: what the promise
 * still works with would be closed under its hands. Such a promise has to be awaited.
 */
t.test('no promise is returned out of the scope of a using declaration', async (t) => {
  const files = ['bin', 'src', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map((name) => join(root, folder, name)),
  );
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const isPromise = (expression: ts.Expression) => {
    const type = checker.getTypeAtLocation(expression);
    return checker.getAwaitedType(type) !== type;
  };
  let scopes = 0;

  const inScope = (node: ts.Node, file: ts.SourceFile): void => {
    if (ts.isFunctionLike(node)) return;
    if (ts.isReturnStatement(node) && node.expression && !ts.isAwaitExpression(node.expression)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      const parts = ts.isConditionalExpression(node.expression)
        ? [node.expression.whenTrue, node.expression.whenFalse]
        : [node.expression];
      const where = `${relative(root, file.fileName)}:${line + 1} ${node.getText(file)}`;
      t.notOk(
        parts.some((part) => !ts.isAwaitExpression(part) && isPromise(part)),
        where,
      );
    }
    ts.forEachChild(node, (child) => inScope(child, file));
  };
  const visit = (node: ts.Node, file: ts.SourceFile): void => {
    if (ts.isBlock(node)) {
      const first = node.statements.findIndex(
        (statement) =>
          ts.isVariableStatement(statement) &&
          (statement.declarationList.flags & ts.NodeFlags.Using) === ts.NodeFlags.Using,
      );
      if (first >= 0) {
        scopes += 1;
        for (const statement of node.statements.slice(first + 1)) inScope(statement, file);
      }
    }
    ts.forEachChild(node, (child) => visit(child, file));
  };
  for (const file of program.getSourceFiles()) {
    if (files.includes(file.fileName)) visit(file, file);
  }
  t.ok(scopes > 20, `${scopes} scopes`);
});
