import { readdirSync, readlinkSync } from 'node:fs';

/** Those of event loops: how many threads have one depends on how long images take, and has a bound of its own. */
const ofEventLoops = /^(anon_inode:\[(eventpoll|eventfd|io_uring)\]|pipe:.*)$/;

/** What the descriptors of this process are open on, sorted, but for those of its threads' event loops. */
export function openFiles(): string[] {
  return readdirSync('/proc/self/fd')
    .map((fd) => targetOf(`/proc/self/fd/${fd}`))
    .filter((target) => target !== '' && !ofEventLoops.test(target))
    .sort();
}

/** What a link is to, but for one that is gone: the descriptor that the directory was read by. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
