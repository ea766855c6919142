import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** A directory of the test's own, removed when the test ends. */
export function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'container-disk-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
