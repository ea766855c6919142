import { LauncherPod } from '../kubevirt/launcher-pod.ts';
import type { VirtualMachineInstance } from '../kubevirt/virtual-machine-instance.ts';
import type { Host } from './host.ts';
import { MounterError } from './mounter-error.ts';

/** The pod that a virtual machine runs in on this node, and the name that its status gives this node. */
export interface Launcher {
  readonly pod: LauncherPod;
  readonly node: string | undefined;
}

/** How a virtual machine is called in messages. */
export function nameOf({ namespace, name }: VirtualMachineInstance): string {
  return `${namespace}/${name}`;
}

/** Those of the active pods whose directory is on this node. */
export function launchersOf(host: Host, instance: VirtualMachineInstance): Launcher[] {
  return Array.from(instance.activePods, ([uid, node]) => ({
    pod: new LauncherPod(uid, host.layout),
    node: node === '' ? undefined : node,
  })).filter(({ pod }) => {
    using directory = host.openDirectory(pod.containerDisks.directory);
    using hotplug = directory ?? host.openDirectory(pod.hotplugDisks.directory);
    return hotplug !== undefined;
  });
}

/**
 * The launcher pod to mount into. Several at once, as while a migration stays on its node, are not told apart by
 * a guess.
 *
 * @throws MounterError ENOTREADY
 */
export function launcherOf(host: Host, instance: VirtualMachineInstance): Launcher {
  const launchers = launchersOf(host, instance);
  const [launcher] = launchers;
  if (launcher === undefined) {
    const pods = [...instance.activePods.keys()];
    const known =
      pods.length === 0 ? 'status.activePods is empty' : `none of ${pods.join(', ')} has one`;
    throw new MounterError(
      'ENOTREADY',
      `${nameOf(instance)} has no launcher pod with a directory in ${host.kubeletDirectory}/pods: ${known}`,
    );
  }
  if (launchers.length > 1) {
    const pods = launchers.map(({ pod }) => pod.uid).join(', ');
    throw new MounterError(
      'ENOTREADY',
      `${nameOf(instance)} has several active pods on this node (${pods}): wait until one is left`,
    );
  }
  return launcher;
}
