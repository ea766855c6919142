import { attachmentPod, hotplugDirectory } from '../demo/attachment-pod.ts';
import { vmiOf } from '../demo/mounter.ts';
import { VirtLauncher } from '../demo/virt-launcher.ts';
import type { Scenario } from './scenario.ts';
import { startSidecar } from './sidecar.ts';

/** A launcher pod and an attachment pod; nothing is mounted yet. */
export const running: Scenario = {
  symptom: 'a virtual machine, and an attachment pod with three volumes; all is well',
  async setUp(stage) {
    const pod = stage.node.pod();
    await startSidecar(stage, pod, 'disk_0');
    const launcher = stage.cleanup.use(
      await VirtLauncher.start(stage.node, pod, [
        { source: pod.emptyDir('hotplug-disks'), destination: hotplugDirectory },
      ]),
    );
    const volumes = await attachmentPod(stage.node, stage.binaries, stage.cleanup);
    const hotplugged = vmiOf({ pod }, volumes);
    stage.cleanup.defer(() => stage.mounter(hotplugged, 'unmount'));
    return {
      pod,
      vmi: vmiOf({ pod }),
      otherVmis: { 'vmi-hotplugged.yaml': hotplugged },
      commands: { 'in-pod': launcher.asQemu() },
    };
  },
};
