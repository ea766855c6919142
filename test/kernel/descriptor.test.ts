import { constants, fstatSync } from 'node:fs';
import t from 'tap';
import { Descriptor } from '../../src/kernel/descriptor.ts';

function isOpen(number: number): boolean {
  try {
    fstatSync(number);
    return true;
  } catch {
    return false;
  }
}

t.test('it is closed once, when the last owner lets go', async (t) => {
  const one = Descriptor.open('/', constants.O_RDONLY);
  const { number } = one;
  const other = one.share();
  const third = other.share();
  t.equal(third.number, number);
  t.throws(() => other.take(), /other owners/);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  t.throws(() => one.number, /closed/);
  t.throws(() => one.share(), /closed/);
  third[Symbol.dispose]();
  t.ok(isOpen(number));
  other[Symbol.dispose]();
  t.notOk(isOpen(number));
});

t.test('the last owner can give it away', async (t) => {
  const one = Descriptor.open('/', constants.O_RDONLY);
  const other = one.share();
  one[Symbol.dispose]();
  const number = other.take();
  other[Symbol.dispose]();
  t.ok(isOpen(number));
  new Descriptor(number)[Symbol.dispose]();
  t.notOk(isOpen(number));
});
