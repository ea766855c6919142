/** Where the launcher's container has what the mounter puts into the pod. */
export const containerDisks = '/run/kubevirt/container-disks';
export const hotplugDisks = '/run/kubevirt/hotplug-disks';
/** The kernel and the initrd, by the names that they have in their image. */
export const kernelBoot = `${containerDisks}/kernel-boot`;
/** Where it keeps the overlays over container disks. */
export const ephemeralDisks = '/run/kubevirt-ephemeral-disks';
/** What the machine boots: an overlay over the container disk. */
export const overlay = `${ephemeralDisks}/disk.qcow2`;
/** Where QEMU and libvirt have their sockets. */
export const runtime = '/run/libvirt';

export const kernelArguments = 'console=ttyS0 quiet panic=-1';
