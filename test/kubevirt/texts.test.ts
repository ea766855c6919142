import t from 'tap';
import { refusal } from './manifests.ts';

t.test('texts', async (t) => {
  const texts: [what: string, text: string, code: string][] = [
    ['nothing', '', 'EKIND'],
    ['a comment', '# nothing\n---\n', 'EKIND'],
    ['a word', 'hello', 'EKIND'],
    ['a number', '7', 'EKIND'],
    ['a list', '[]', 'EKIND'],
    ['JSON cut short', '{"kind": "List", "items": [', 'ESYNTAX'],
    ['YAML with an error', 'a: b: c\n', 'ESYNTAX'],
    ['an alias to nothing', 'metadata: *nothing\n', 'ESYNTAX'],
    ['binary', '\u0000\u0001\u0002', 'EKIND'],
  ];
  for (const [what, text, code] of texts) {
    const error = refusal(text);
    t.equal(error.code, code, `${what}: ${error.message}`);
    t.match(error.message, /^vm\.yaml: [^\p{Cc}]+$/u, what);
  }
});
