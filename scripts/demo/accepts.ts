import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname } from 'node:path';

/**
 * Whether somebody listens: the socket of a holder that was killed has its name still, and refuses.
 * Goes through the directory's descriptor, as the path of a pod's directory is longer than an address (unix(7)) can be.
 */
export async function accepts(socket: string): Promise<boolean> {
  const directory = openSync(dirname(socket), 'r');
  const client = connect(`/proc/self/fd/${directory}/${basename(socket)}`);
  try {
    await once(client, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return false;
    throw error;
  } finally {
    client.destroy();
    closeSync(directory);
  }
}
