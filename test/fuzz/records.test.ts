import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { type MountRecord, parseRecord, recordVersion } from '../../src/mounter/mount-record.ts';
import { fuzz, plain } from '../support/fuzz.ts';
import { mutated } from '../support/mutations.ts';

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
const name = fc.stringMatching(/^[a-z][-a-z0-9.]{0,20}$/);

const entry = fc.record(
  {
    volume: text,
    type: fc.constantFrom('file' as const, 'directory' as const, 'device' as const),
    place: fc.record(
      {
        directory: fc
          .tuple(fc.uuid(), name)
          .map(([uid, each]) => ['pods', uid, 'volumes', 'kubernetes.io~empty-dir', each]),
        entry: fc.array(name, { minLength: 1, maxLength: 3 }),
      },
      plain,
    ),
    source: fc.record({ fileSystem: text, inode: text }, plain),
    device: text,
    cgroups: fc.array(
      text.map((each) => `/${each}`),
      { maxLength: 3 },
    ),
  },
  { ...plain, requiredKeys: ['volume', 'type', 'place'] },
);

const records: fc.Arbitrary<MountRecord> = fc.record(
  {
    version: fc.constant(recordVersion),
    namespace: text,
    name: text,
    uid: fc.uuid(),
    entries: fc.array(entry, { maxLength: 5 }),
  },
  plain,
);

fuzz(t, 'records: what is written is read', records, (record) => {
  // Prototypes aside, which JSON does not have.
  assert.deepEqual(parseRecord(JSON.stringify(record)), JSON.parse(JSON.stringify(record)));
});

const files = records.map((record) => Buffer.from(JSON.stringify(record)));

fuzz(t, 'records: mutated', mutated(files), (bytes) => {
  let record: MountRecord;
  try {
    record = parseRecord(bytes.toString('utf8'));
  } catch (error) {
    // The store says which record it is (ERECORD); here it is only that nothing breaks.
    assert.ok(error instanceof SyntaxError || (error instanceof Error && error.name === 'Error'));
    return;
  }
  for (const { place } of record.entries) {
    const parts = [...place.directory, ...place.entry];
    assert.ok(parts.every((part) => !/[/\0]/.test(part) && !['', '.', '..'].includes(part)));
  }
});
