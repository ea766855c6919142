import type { Scenario } from './scenario.ts';
import { startSidecar, vmiWith } from './sidecar.ts';

/** The disk is still mounted in a pod whose containers have ended, and nobody is left to take it away. */
export const terminating: Scenario = {
  symptom: 'a pod hangs in Terminating with "device or resource busy"',
  async setUp(stage) {
    const pod = stage.node.pod();
    const sidecar = await startSidecar(stage, pod, 'disk_0');
    const vmi = vmiWith(pod, ['root']);
    stage.mounter(vmi, 'mount');
    stage.cleanup.defer(() => stage.mounter(vmi, 'unmount'));
    sidecar.kill('SIGKILL');
    await sidecar.exit;
    return { pod, vmi };
  },
};
