import type { Layout } from '../kubevirt/layout.ts';
import type { OtherFormat } from './disk/other-format.ts';

/** How a file gets out of another mount namespace; `auto` takes the first that the kernel has. */
export type Strategy = 'auto' | 'open_tree' | 'mountinfo';

/** Owner of what is made for a virtual machine: QEMU's uid and gid. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Where things are on the node. Every field has a default. */
export interface HostOptions {
  /** The host's root directory as this process sees it: `/`, or `/proc/1/root` in a pod with hostPID. */
  readonly hostRoot?: string;
  /** The kubelet's directory on the host, `/var/lib/kubelet`; it may be or contain a symbolic link. */
  readonly kubeletDirectory?: string;
  /** Where records are kept, as this process sees it: `/run/container-disk/mounts`. */
  readonly stateDirectory?: string;
  /** The host's mount namespace: `/proc/1/ns/mnt`. */
  readonly hostMountNamespace?: string;
  /** uid and gid of QEMU, 107 and 107. */
  readonly owner?: Owner;
  readonly strategy?: Strategy;
  readonly layout?: Layout;
  /** Disk formats besides qcow2 and raw that are served. */
  readonly allowFormats?: readonly OtherFormat[];
  /** Milliseconds to wait for a socket that does not accept, and for an image's file system to answer; 10,000. */
  readonly timeout?: number;
}
