import { call } from './libc.ts';

/**
 * _exit(2): ends all threads without waiting for them. Node.js's own exit joins its worker threads first, and one of
 * them can wait in the kernel for a file system that does not answer.
 */
export function exitAtOnce(status: number): void {
  call('void _exit(int status)', '_exit', undefined, status);
}
