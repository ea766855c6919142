import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Descriptor } from './descriptor.ts';
import { tryCall } from './libc.ts';
import { SyscallError } from './syscall-error.ts';

const { EAGAIN } = constants.errno;
const LOCK_EX = 2;
const LOCK_NB = 4;

/** Milliseconds between two tries. */
const pause = 20;

/** flock(2) with LOCK_EX|LOCK_NB; false where another open file description has the lock. It is let go by closing. */
export function tryLock(file: Descriptor, path: string): boolean {
  const result = tryCall(
    'int flock(int fd, int operation)',
    'flock',
    file.number,
    LOCK_EX | LOCK_NB,
  );
  if (result < 0 && result !== -EAGAIN) throw new SyscallError(-result, 'flock', path);
  return result >= 0;
}

/** Waits for the lock without holding up the event loop; `waiting` is called once, when it has waited so long. */
export async function lock(
  file: Descriptor,
  path: string,
  options: { signal?: AbortSignal | undefined; patience: number; waiting: () => void },
): Promise<void> {
  const start = performance.now();
  let told = false;
  while (!tryLock(file, path)) {
    if (!told && performance.now() - start >= options.patience) {
      told = true;
      options.waiting();
    }
    await sleep(pause);
    options.signal?.throwIfAborted();
  }
}
