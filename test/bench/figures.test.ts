import t from 'tap';
import { compare, type Result } from '../../scripts/bench/comparison.ts';
import { Run } from '../../scripts/bench/run.ts';
import { summarize } from '../../scripts/bench/statistics.ts';
import { resultTables, targetTable } from '../../scripts/bench/tables.ts';
import { targets } from '../../scripts/bench/targets.ts';

t.test('median and quartiles', async (t) => {
  t.strictSame(summarize([5, 1, 2, 4, 3]), {
    count: 5,
    median: 3,
    quartiles: [2, 4],
    min: 1,
    max: 5,
  });
  t.match(summarize([1, 2]), { median: 1.5, quartiles: [1.25, 1.75] });
  t.match(summarize([7]), { median: 7, quartiles: [7, 7] });
  t.throws(() => summarize([]), RangeError);
});

t.test('each is measured once a round, in turn, and the first round does not count', async (t) => {
  const order: string[] = [];
  const contestant = (name: string, value: number) => ({
    name,
    measure: () => {
      order.push(name);
      return { figure: value + order.length };
    },
  });
  const results = await compare({
    name: 'comparison',
    figures: [
      { id: 'figure', title: 'a figure', unit: 'ms' },
      { id: 'other', title: 'what nobody measures', unit: '' },
    ],
    contestants: [contestant('a', 0), contestant('b', 1000)],
    rounds: 2,
    warmUp: true,
  });
  t.equal(order.join(''), 'ababba');
  t.strictSame(
    results.map(({ contestant, samples }) => [contestant, samples]),
    [
      ['a', [3, 6]],
      ['b', [1004, 1005]],
    ],
  );
  const text = resultTables(results);
  t.match(text, /\| a figure, ms \| 4\.50 \(3\.75–5\.25\) \| 1,005 \(1,004–1,005\) \|/);
  t.notMatch(text, /what nobody measures/);
});

t.test('what is to be reached', async (t) => {
  const result = (figure: string, contestant: string, ...samples: number[]): Result => ({
    ...{ comparison: '', title: '', unit: '', figure, contestant, samples },
    summary: summarize(samples),
  });
  const found = targets([
    result('start-cpu', 'container-disk', 7, 8, 9),
    result('start-cpu', 'official Node.js', 10),
    result('connections', 'container-disk', 9_000),
    result('removal', 'container-disk', 1, 2, 30),
  ]);
  t.match(found, [
    { target: 'at most 0.80 times', measured: '0.80 times', isReached: true },
    { target: 'at most 5 ms', measured: '2 ms', isReached: true },
    { target: 'at most 20 ms', measured: '30 ms', isReached: false },
    { target: 'at least 10,000', measured: '9,000', isReached: false },
  ]);
  t.equal(found.length, 4, 'what was not measured is left out');
  t.match(targetTable(found), /\| at least 10,000 +\| 9,000 +\| no +\|/);
});

t.test('what is wanted', async (t) => {
  const wants = (...only: string[]) => new Run({ only, rounds: undefined });
  t.ok(wants().wants('idle'));
  t.ok(wants('holder').wants('idle'));
  t.notOk(wants('holder').wants('disks', 'hotplug'));
  t.ok(wants('disks').wants('hotplug', 'disks'));
  t.throws(() => wants('nothing'), { message: /nothing is called nothing: choose from holder/ });
});
