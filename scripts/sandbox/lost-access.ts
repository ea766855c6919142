import { attachmentPod, hotplugDirectory } from '../demo/attachment-pod.ts';
import { vmiOf } from '../demo/mounter.ts';
import { hasDeviceCgroups } from '../demo/pod-cgroup.ts';
import { denyDevices, VirtLauncher } from '../demo/virt-launcher.ts';
import type { Scenario } from './scenario.ts';
import { startSidecar } from './sidecar.ts';

/** Something has written the device rules of the pod anew, and the block device that was plugged in is not among them. */
export const lostAccess: Scenario = {
  symptom: 'a hotplugged disk lost access',
  async setUp(stage) {
    const pod = stage.node.pod();
    await startSidecar(stage, pod, 'disk_0');
    const launcher = stage.cleanup.use(
      await VirtLauncher.start(stage.node, pod, [
        { source: pod.emptyDir('hotplug-disks'), destination: hotplugDirectory },
      ]),
    );
    const volumes = await attachmentPod(stage.node, stage.binaries, stage.cleanup);
    const vmi = vmiOf({ pod }, volumes);
    stage.cleanup.defer(() => stage.mounter(vmi, 'unmount'));
    stage.mounter(vmi, 'mount');
    denyDevices(launcher.cgroup, hasDeviceCgroups('v2') ? 'v2' : 'v1');
    return { pod, vmi, commands: { 'in-pod': launcher.asQemu() } };
  },
};
