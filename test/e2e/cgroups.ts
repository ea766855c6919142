import { readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = '/sys/fs/cgroup';

/** The kubelet's cgroup of pods, in every hierarchy of cgroup v1, or of v2. */
export function kubepods(): string[] {
  const hierarchies = [root, ...readdirSync(root).map((name) => join(root, name))];
  return hierarchies.map((hierarchy) => join(hierarchy, 'kubepods'));
}

/** Removes the cgroups of pods and what they leave empty above them; the processes in them have been ended. */
export async function removeCgroups(uids: readonly string[]): Promise<void> {
  for (const top of kubepods()) {
    for (const uid of uids) {
      for (const parent of [top, join(top, 'burstable')]) await remove(join(parent, `pod${uid}`));
    }
    for (const directory of [join(top, 'burstable'), top]) removeEmpty(directory);
  }
}

async function remove(directory: string): Promise<void> {
  for (const child of directories(directory)) await remove(join(directory, child));
  // A cgroup is busy until the last process that was killed in it is reaped.
  for (let attempt = 0; !removeEmpty(directory); attempt += 1) {
    if (attempt === 500) throw new Error(`${directory} stays busy`);
    await sleep(10);
  }
}

function directories(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/** Whether it is gone. */
function removeEmpty(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return true;
    if (codeOf(error) === 'EBUSY' || codeOf(error) === 'ENOTEMPTY') return false;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
