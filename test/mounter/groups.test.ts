import t from 'tap';
import { groups } from '../../src/mounter/groups.ts';

t.test('in their order, sixteen at most, and those of one key apart', async (t) => {
  t.strictSame(groups([]), []);
  t.strictSame(groups(['a', 'b', 'c']), [['a', 'b', 'c']]);
  t.strictSame(
    groups(['a1', 'b1', 'a2', 'b2', 'c1'], ([key = '']) => key),
    [
      ['a1', 'b1'],
      ['a2', 'b2', 'c1'],
    ],
  );
  const many = Array.from({ length: 40 }, (_, index) => index);
  const found = groups(many);
  t.strictSame(
    found.map(({ length }) => length),
    [16, 16, 8],
  );
  t.strictSame(found.flat(), many);
});
