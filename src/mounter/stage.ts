import { createHash } from 'node:crypto';
import {
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Descriptor } from '../kernel/descriptor.ts';
import { O_PATH } from '../kernel/open-flags.ts';
import { statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import type { PodPath } from '../kubevirt/pod-path.ts';
import { type Host, stagesOf } from './host.ts';
import type { TargetKind } from './target.ts';

/** How many mounts may be on a stage: a run that was killed leaves one. */
const most = 8;

/** Length of a pod's uid in the name of a stage. */
const uidLength = 36;

/**
 * A stage is a file or directory in the state directory where a bind mount gets its attributes before anybody sees
 * it. It is the same for a target every time, so that the next run finds what a killed one has left there.
 */
function stageOf(host: Host, { directory, entry }: PodPath): string {
  const name = createHash('sha256').update(entry.join('/')).digest('hex').slice(0, 16);
  return join(stagesOf(host.stateDirectory), `${directory[1]}-${name}`);
}

/** Makes the stage of a target for as long as `use` takes. */
export async function withStage(
  host: Host,
  place: PodPath,
  kind: TargetKind,
  use: (path: string) => Promise<void>,
): Promise<void> {
  const path = stageOf(host, place);
  await clear(host, path);
  mkdirSync(stagesOf(host.stateDirectory), { recursive: true, mode: 0o700 });
  if (kind === 'directory') mkdirSync(path, { mode: 0o700 });
  else writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
  try {
    await use(path);
  } finally {
    await clear(host, path);
  }
}

/** Takes away what a killed run has left on the stage of a target. */
export async function clearStage(host: Host, place: PodPath): Promise<void> {
  if (host.hasStages) await clear(host, stageOf(host, place));
}

/** Takes away what killed runs have left on the stages of pods that are gone. */
export async function clearStages(
  host: Host,
  isGone: (pod: string) => Promise<boolean>,
): Promise<void> {
  for (const name of namesOf(stagesOf(host.stateDirectory))) {
    if (await isGone(name.slice(0, uidLength)))
      await clear(host, join(stagesOf(host.stateDirectory), name));
  }
}

/** Never by a recursive removal: while something is mounted there, what is in it is a virtual machine's. */
async function clear(host: Host, path: string): Promise<void> {
  for (let count = 0; count < most; count += 1) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
    using file = Descriptor.open(path, O_PATH | constants.O_NOFOLLOW);
    const { isMountRoot, mode } = statx(file.number);
    if (isMountRoot) {
      await host.thread.detach(host.mountNamespace, file.number, path);
      continue;
    }
    if ((mode & constants.S_IFMT) === constants.S_IFDIR) rmdirSync(path);
    else unlinkSync(path);
    removeIfEmpty(stagesOf(host.stateDirectory));
    return;
  }
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    if (!hasCode(error, 'ENOTEMPTY', 'ENOENT')) throw error;
  }
}

function namesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
