import type { Prose } from './manual.ts';

export const holderProse: Prose = {
  section: 1,
  description: [
    'It runs inside container disk images of KubeVirt. Each --copy-path is a UNIX socket that it holds: who connects is accepted and the connection closed at once, and SO_PEERCRED of the connection names this process, whose root directory is the disk image.',
    'The socket is complete when it can be seen: it is bound and listens under a temporary name first. One that nobody listens on any more is replaced; anything else at its path is left as it is, and an error. When the last of the sockets is removed, it ends.',
    'Started under the name cp it takes SOURCE and DESTINATION and copies one file, so that the init container that KubeVirt renders works with an image that links /usr/bin/cp to this program.',
  ],
  exitStatus: [
    ['0', 'The last socket was removed, SIGTERM or SIGINT came, or the copy is there.'],
    ['1', 'Anything failed; one line on standard error says what, which path and why.'],
  ],
  files: [['PATH.sock', 'The socket of --copy-path PATH.']],
  examples: [
    ['A sidecar:', 'container-disk --copy-path /disks/disk_0'],
    ['The copy step:', 'container-disk copy /init/usr/bin'],
    ['An init container that only has its image pulled:', 'container-disk --no-op'],
  ],
  seeAlso: ['container-disk-mounter(8)', 'unix(7)'],
};

export const mounterProse: Prose = {
  section: 8,
  description: [
    'It finds the sockets of container-disk(1) below the directory of the kubelet, follows each to the process behind it and to the disk in the root of that process, verifies the disk, and mounts it into the pod of the virtual machine. It plugs container disks, file systems and block devices into virtual machines that run, and takes away again what it mounted.',
    'It needs root on the node, or a privileged pod with the processes of the host, and no connection to an API server: all that it is given is the VirtualMachineInstance. Each command can be repeated, also after it was killed at any point. Two at once on one virtual machine wait for each other.',
    'A duration is a number with a unit: 500ms, 60s, 2m or 1h.',
  ],
  exitStatus: [
    ['0', 'All was done.'],
    ['1', 'Something was not; what, and why, is on standard error. The rest was done.'],
  ],
  files: [
    ['/run/container-disk/mounts', 'Records of what is mounted, one file per virtual machine.'],
    ['/var/lib/kubelet/pods', 'The directories of the pods.'],
  ],
  examples: [
    ['What is on this node:', 'container-disk-mounter list'],
    [
      'Which container disk has no socket yet:',
      'container-disk-mounter ready -f vmi.yaml --timeout 0s',
    ],
    [
      'In a privileged pod:',
      'container-disk-mounter --host-root /proc/1/root mount -f - < vmi.yaml',
    ],
    ['Take away all of a virtual machine:', 'container-disk-mounter unmount -f vmi.yaml --all'],
  ],
  seeAlso: ['container-disk(1)', 'move_mount(2)', 'mount(8)'],
};
