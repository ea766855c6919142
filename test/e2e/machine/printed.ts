import { createHash } from 'node:crypto';

export const mebibyte = 1024 * 1024;

/** The line that the guest prints of a disk (`guest/init.cpp`). */
export function printed(name: string, content: Buffer, access: 'ro' | 'rw'): RegExp {
  const sum = createHash('sha256').update(content.subarray(0, mebibyte)).digest('hex');
  return new RegExp(`^disk ${name} ${content.length} ${access} ${sum}$`);
}
