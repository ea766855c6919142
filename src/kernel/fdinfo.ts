import { readFileSync } from 'node:fs';

/** `mnt_id` of proc_pid_fdinfo(5): the ID of the mount that an open file is on, as in mountinfo. */
export function mountIdOf(fd: number): number | undefined {
  const id = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
  return id === undefined ? undefined : Number(id);
}
