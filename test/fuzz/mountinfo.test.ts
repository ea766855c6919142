import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { MountinfoError, parseMountinfo } from '../../src/kernel/mountinfo.ts';
import { bytesFromPath, pathFromBytes } from '../../src/kernel/path-bytes.ts';
import { answer, fuzz, plain } from '../support/fuzz.ts';
import { mutated } from '../support/mutations.ts';

/** Any bytes but the one that no path has, as a string that stands for them. */
const path = fc
  .uint8Array({ min: 1, max: 255, maxLength: 40 })
  .map((bytes) => `/${pathFromBytes(bytes)}`)
  .filter((text) => pathFromBytes(bytesFromPath(text)) === text);
const word = fc.stringMatching(/^[a-z0-9_]{1,12}$/);
const number = fc.nat(2 ** 31 - 1);

const entry = fc.record(
  {
    id: number,
    parentId: number,
    major: fc.nat(4095),
    minor: fc.nat(2 ** 20 - 1),
    root: path,
    mountPoint: path,
    options: fc.array(word, { minLength: 1, maxLength: 6 }),
    optionalFields: fc
      .array(fc.tuple(fc.constantFrom('shared', 'master', 'unbindable', 'new'), word), {
        maxLength: 3,
      })
      .map((pairs) => new Map(pairs)),
    fsType: word,
    source: path,
    superOptions: fc.array(
      fc.tuple(word, path).map(([name, value]) => `${name}=${value}`),
      {
        maxLength: 5,
      },
    ),
  },
  plain,
);
type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never;

/** As seq_path(9) escapes; a comma too within an option. */
function escaped(text: string, also = ''): string {
  const special = ` \t\n\\#${also}`;
  return Array.from(bytesFromPath(text), (byte) => {
    const character = String.fromCharCode(byte);
    const octal = byte.toString(8).padStart(3, '0');
    return special.includes(character) ? `\\${octal}` : character;
  }).join('');
}

function line(each: Entry): string {
  const tags = Array.from(each.optionalFields, ([name, value]) => `${name}:${value}`);
  return [
    each.id,
    each.parentId,
    `${each.major}:${each.minor}`,
    escaped(each.root),
    escaped(each.mountPoint),
    each.options.join(','),
    ...tags,
    '-',
    each.fsType,
    escaped(each.source),
    each.superOptions.map((option) => escaped(option, ',')).join(','),
  ].join(' ');
}

const tables = fc.array(entry, { maxLength: 6 });

function written(entries: readonly Entry[]): Buffer {
  return Buffer.from(entries.map((each) => `${line(each)}\n`).join(''), 'latin1');
}

fuzz(t, 'mountinfo: what the kernel writes is read', tables, (entries) => {
  assert.deepEqual(parseMountinfo(written(entries)), entries);
});

fuzz(t, 'mountinfo: mutated', mutated(tables.map(written)), (bytes) => {
  const entries = answer(() => parseMountinfo(bytes), MountinfoError) ?? [];
  for (const { id, major, minor } of entries) {
    assert.ok([id, major, minor].every((each) => each >= 0));
  }
});
