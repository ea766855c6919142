import type { Scenario } from './scenario.ts';
import { startSidecar, vmiWith } from './sidecar.ts';

/** Three container disks: one is well, the process of one has died, the sidecar of one was never started. */
export const stuckInStarting: Scenario = {
  symptom: 'a virtual machine is stuck in Starting',
  async setUp(stage) {
    const pod = stage.node.pod();
    await startSidecar(stage, pod, 'disk_0');
    const died = await startSidecar(stage, pod, 'disk_1');
    died.kill('SIGKILL');
    await died.exit;
    return {
      pod,
      vmi: vmiWith(pod, ['root', 'tools', 'data']),
      async kubelet(disk) {
        await startSidecar(stage, pod, disk);
      },
    };
  },
};
