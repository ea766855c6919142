/** A mount of one of the pod's emptyDirs. */
export interface VolumeMount {
  /** Name of the emptyDir. */
  readonly name: string;
  readonly mountPath: string;
  readonly mountPropagation?: 'HostToContainer';
}

/** A container of a pod, with the fields of the Kubernetes API that matter here. */
export interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args?: readonly string[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly limits: { readonly memory: number; readonly cpu: number };
}

/** Containers in the order in which the kubelet starts them. */
export interface PodTemplate {
  readonly initContainers: readonly PodContainer[];
  readonly containers: readonly PodContainer[];
}

/** What KubeVirt gives containers that have to do with container disks: bytes, and thousandths of a core. */
const limits = { memory: 40_000_000, cpu: 100 };
const program = 'registry.example/container-disk:test';
const binaries = { name: 'virt-bin-share-dir', mountPath: '/usr/bin' };

/** The init container that hands out the program. */
const copyStep: PodContainer = {
  name: 'container-disk-binary',
  image: program,
  command: ['/usr/bin/cp', '/usr/bin/container-disk', '/init/usr/bin/container-disk'],
  volumeMounts: [{ name: 'virt-bin-share-dir', mountPath: '/init/usr/bin' }],
  limits,
};

/** Where a launcher pod has its container disks. */
function dataDirectory(vmi: string): string {
  return `/var/run/kubevirt-ephemeral-disks/container-disk-data/${vmi}`;
}

/** The containers of a disk image, as virt-controller renders them: one that has it pulled, and the sidecar. */
function imageContainers(vmi: string, name: string, image: string, entry: string) {
  const sidecar = {
    name,
    image,
    command: ['/usr/bin/container-disk'],
    args: ['--copy-path', `${dataDirectory(vmi)}/${entry}`],
    volumeMounts: [{ name: 'container-disks', mountPath: dataDirectory(vmi) }, binaries],
    limits,
  };
  return { init: { ...sidecar, name: `${name}-init`, args: ['--no-op'] }, sidecar };
}

/** A launcher pod of a virtual machine with disks in images, by their names, and kernel boot. */
export function launcherPod(
  vmi: string,
  disks: Readonly<Record<string, string>>,
  kernelBoot: string,
): PodTemplate {
  const images = [
    ...Object.entries(disks).map(([name, image], index) =>
      imageContainers(vmi, `volume${name}`, image, `disk_${index}`),
    ),
    imageContainers(vmi, 'kernel-boot', kernelBoot, 'kernel-boot'),
  ];
  return {
    initContainers: [copyStep, ...images.map(({ init }) => init)],
    containers: [
      {
        // In virt-launcher's place stands the program: what counts is what its mount namespace sees.
        name: 'compute',
        image: program,
        command: ['/usr/bin/container-disk'],
        args: ['--copy-path', '/var/run/kubevirt/sockets/compute'],
        volumeMounts: [
          { name: 'sockets', mountPath: '/var/run/kubevirt/sockets' },
          {
            name: 'container-disks',
            mountPath: dataDirectory(vmi),
            mountPropagation: 'HostToContainer',
          },
          {
            name: 'hotplug-disks',
            mountPath: '/var/run/kubevirt/hotplug-disks',
            mountPropagation: 'HostToContainer',
          },
        ],
        limits: { memory: 80_000_000, cpu: 100 },
      },
      ...images.map(({ sidecar }) => sidecar),
    ],
  };
}

/** The attachment pod of a hotplugged container disk. */
export function attachmentPod(volume: string, image: string): PodTemplate {
  const hotplug = { memory: 80_000_000, cpu: 100 };
  return {
    initContainers: [copyStep],
    containers: [
      {
        name: 'hotplug-disk',
        image: program,
        command: ['/usr/bin/container-disk'],
        args: ['--copy-path', '/path/hp'],
        volumeMounts: [
          { name: 'hotplug-disks', mountPath: '/path', mountPropagation: 'HostToContainer' },
        ],
        limits: hotplug,
      },
      {
        name: `hotplug-container-disk-${volume}`,
        image,
        command: ['/init/usr/bin/container-disk'],
        args: ['--copy-path', `/path/hotplug-container-disk-${volume}`],
        volumeMounts: [
          { name: 'hotplug-container-disks', mountPath: '/path' },
          { name: 'virt-bin-share-dir', mountPath: '/init/usr/bin' },
        ],
        limits,
      },
    ],
  };
}
