import { read } from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from './crc32.ts';

const chunkSize = 1024 * 1024;

const readAt = promisify(read);

export interface ChecksumOptions {
  /** Ends it with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of bytes that are done. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/**
 * CRC-32 of the whole file, holes included: what KubeVirt has in
 * `status.volumeStatus[].containerDiskVolume.checksum` and `status.kernelBootStatus`.
 *
 * @param fd open for reading; stays open, its offset stays where it is
 * @returns an unsigned integer of 32 bits
 */
export async function checksumOf(fd: number, options: ChecksumOptions = {}): Promise<number> {
  const { signal, onProgress } = options;
  const buffer = Buffer.allocUnsafeSlow(chunkSize);
  let checksum = 0;
  let position = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await readAt(fd, buffer, 0, buffer.length, position);
    if (bytesRead === 0) return checksum;
    checksum = crc32(buffer.subarray(0, bytesRead), checksum);
    position += bytesRead;
    onProgress?.(position);
  }
}
