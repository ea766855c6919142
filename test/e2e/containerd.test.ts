import t from 'tap';
import { skipUnless } from '../support/requirements.ts';
import { CtrRuntime } from './ctr-runtime.ts';
import { diskFlow } from './disk-flow.ts';
import { startNode } from './node.ts';

const skip = skipUnless('root', 'unshare', 'setpriv', 'containerd');

t.test('disks of a pod in containerd', { skip }, async (t) => {
  const node = await startNode(t);
  await t.test('by ctr', (t) => diskFlow(t, node, new CtrRuntime(node.host)));
  await t.test('by the CRI plugin', (t) => diskFlow(t, node, node.cri()));
});
