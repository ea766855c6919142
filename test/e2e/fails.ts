import { readlinkSync, writeSync } from 'node:fs';
import t from 'tap';
import { startLauncher } from './disk-flow.ts';
import { startNode } from './node.ts';

/** A test that starts all there is, says what that is, and then fails, or hangs. */
t.test('fails', async (t) => {
  const node = await startNode(t);
  const { launcher, file } = await startLauncher(node, node.cri());
  node.host.mounter('ready', '-f', file, '--timeout', '30s');
  node.host.mounter('mount', '-f', file);
  const made = {
    directory: node.host.directory,
    namespace: readlinkSync(`/proc/${node.host.pid}/ns/pid`),
    pod: launcher.directories.uid,
    mounts: node.host.mounts('/var/lib/kubelet').length,
  };
  writeSync(2, `${JSON.stringify(made)}\n`);
  if (process.argv[2] === 'hang') await new Promise((resolve) => setTimeout(resolve, 60_000));
  throw new Error('as it should');
});
