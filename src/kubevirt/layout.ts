import { isLabel } from './names.ts';
import { printable } from './printable.ts';

/**
 * The names of the emptyDirs that KubeVirt gives to a virtual machine's pods. A platform that renames
 * one of them is served by another value here.
 */
export interface Layout {
  /** In the launcher pod: the sockets of container disks and of kernel boot, and the targets where they are mounted. */
  readonly containerDisks: string;
  /** In the launcher pod: the targets of hotplugged volumes. */
  readonly hotplugDisks: string;
  /** In an attachment pod: `hp.sock`, and one directory per hotplugged volume. Names of which a pod has one. */
  readonly attachmentDisks: readonly string[];
  /** In an attachment pod: the sockets of hotplugged container disks. */
  readonly hotplugContainerDisks: string;
  /** In the launcher pod: `launcher-sock`, on which virt-launcher listens. */
  readonly launcherSockets: string;
}

/** The names that KubeVirt gives them, and `hp-disks` of platforms that are built on it. */
export const kubeVirtLayout: Layout = {
  containerDisks: 'container-disks',
  hotplugDisks: 'hotplug-disks',
  attachmentDisks: ['hotplug-disks', 'hp-disks'],
  hotplugContainerDisks: 'hotplug-container-disks',
  launcherSockets: 'sockets',
};

/**
 * KubeVirt's layout with other names.
 *
 * @throws {RangeError} where a name is not one that an emptyDir can have
 */
export function layoutWith(names: Partial<Layout>): Layout {
  const layout = { ...kubeVirtLayout, ...names };
  for (const name of Object.values(layout).flat()) {
    if (!isLabel(name)) {
      throw new RangeError(
        `layout: "${printable(String(name))}" is not a name that an emptyDir can have`,
      );
    }
  }
  if (layout.attachmentDisks.length === 0) {
    throw new RangeError('layout: attachmentDisks has no name');
  }
  return layout;
}
