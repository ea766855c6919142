import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/**
 * Uses more and more memory in a container's cgroup, up to its limit, until the kernel has killed the container for
 * it. What uses the memory is a line without an end that tail(1) keeps; it may be killed before.
 *
 * @param cgroup below `kubepods/burstable`
 * @param limit of the cgroup's memory, in bytes
 */
export async function useMemory(cgroup: string, limit: number): Promise<void> {
  const procs = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup']
    .map((hierarchy) => `${hierarchy}/kubepods/burstable/${cgroup}/cgroup.procs`)
    .find(existsSync);
  if (procs === undefined) throw new Error(`no memory cgroup ${cgroup}`);
  for (let percent = 60; existsSync(procs) && readFileSync(procs, 'utf8') !== ''; percent += 1) {
    if (percent === 200) throw new Error(`the kernel kills nobody in ${cgroup}`);
    const bytes = Math.round((limit * percent) / 100);
    const script = `echo $$ > ${procs}; head -c ${bytes} /dev/zero | tail > /dev/null; :`;
    await promisify(execFile)('sh', ['-c', script]);
  }
}
