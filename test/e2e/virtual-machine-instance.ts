import { references } from './images.ts';

/** A VMI with two container disks and kernel boot, and what is hotplugged into it. */
export interface Machine {
  readonly uid: string;
  readonly launcher: string;
  /** Attachment pod of the container disk `extra`. */
  readonly attachment?: string;
  /** CRC-32 by volume, as virt-handler writes them into the status. */
  readonly checksums?: Readonly<Record<string, number>>;
}

export function virtualMachineInstance({
  uid,
  launcher,
  attachment,
  checksums = {},
}: Machine): object {
  const disk = (name: 'root' | 'data') => ({ name, containerDisk: { image: references[name] } });
  const status = (name: string) => ({
    name,
    containerDiskVolume: { checksum: checksums[name] ?? 0 },
  });
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'vm', namespace: 'default', uid },
    spec: {
      domain: {
        firmware: {
          kernelBoot: {
            container: {
              image: references.kernelBoot,
              kernelPath: '/boot/kernel',
              initrdPath: '/boot/initrd',
            },
          },
        },
      },
      volumes: [
        disk('root'),
        disk('data'),
        ...(attachment === undefined
          ? []
          : [{ name: 'extra', containerDisk: { image: references.extra, hotpluggable: true } }]),
      ],
    },
    status: {
      activePods: { [launcher]: 'node' },
      volumeStatus: [
        status('root'),
        status('data'),
        ...(attachment === undefined
          ? []
          : [{ name: 'extra', hotplugVolume: { attachPodUID: attachment, attachPodName: 'hp' } }]),
      ],
      kernelBootStatus: {
        kernelInfo: { checksum: checksums['kernel'] ?? 0 },
        initrdInfo: { checksum: checksums['initrd'] ?? 0 },
      },
    },
  };
}
