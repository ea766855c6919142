import { constants, readlinkSync } from 'node:fs';
import { Descriptor } from '../kernel/descriptor.ts';
import { MountTable } from '../kernel/mount-table.ts';
import { type MountNamespace, MountThread } from '../kernel/mount-thread.ts';
import { isMountNamespace } from '../kernel/namespace.ts';
import { O_PATH } from '../kernel/open-flags.ts';
import {
  openat2,
  RESOLVE_BENEATH,
  RESOLVE_IN_ROOT,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
} from '../kernel/openat2.ts';
import { hasCode, SyscallError } from '../kernel/syscall-error.ts';
import { kubeVirtLayout, type Layout } from '../kubevirt/layout.ts';
import { type PodPath, podPathText, podsDirectory } from '../kubevirt/pod-path.ts';
import type { OtherFormat } from './disk/other-format.ts';
import type { HostOptions, Owner, Strategy } from './host-options.ts';
import { ImageThreads } from './image-threads.ts';
import { MounterError, messageOf } from './mounter-error.ts';

/** Nothing that a pod can write is followed, and nothing leads out of where it is looked up. */
const confined = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

/** uid and gid of `qemu` in KubeVirt's images. */
const qemu = 107;

/** The node: its directories, opened step by step, and the thread that changes its mounts. */
export class Host implements AsyncDisposable {
  readonly root: string;
  readonly kubeletDirectory: string;
  readonly stateDirectory: string;
  readonly owner: Owner;
  readonly strategy: Strategy;
  readonly layout: Layout;
  readonly allowFormats: readonly OtherFormat[];
  readonly timeout: number;
  readonly thread = new MountThread();
  readonly images = new ImageThreads();
  readonly #mountNamespace: string;
  #namespace: Descriptor | undefined;

  constructor(options: HostOptions = {}) {
    this.root = options.hostRoot ?? '/';
    this.kubeletDirectory = options.kubeletDirectory ?? '/var/lib/kubelet';
    this.stateDirectory = options.stateDirectory ?? '/run/container-disk/mounts';
    this.owner = options.owner ?? { uid: qemu, gid: qemu };
    this.strategy = options.strategy ?? 'auto';
    this.layout = options.layout ?? kubeVirtLayout;
    this.allowFormats = options.allowFormats ?? [];
    this.timeout = options.timeout ?? 10_000;
    this.#mountNamespace = options.hostMountNamespace ?? '/proc/1/ns/mnt';
  }

  /** Starts the threads that a mount needs, while what it needs first is still looked up. */
  startThreads(): void {
    this.images.start();
    this.thread.start();
  }

  /** The host's mount namespace, in which targets are mounted. */
  get mountNamespace(): MountNamespace {
    this.#namespace ??= this.#openMountNamespace();
    return { fd: this.#namespace.number, path: this.#mountNamespace };
  }

  #openMountNamespace(): Descriptor {
    const path = this.#mountNamespace;
    let opened: Descriptor;
    try {
      opened = Descriptor.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (cause) {
      throw new MounterError(
        'EUNSUPPORTED',
        `cannot open the host's mount namespace ${path}: ${messageOf(cause)} (root on the node or a privileged pod with hostPID is needed; --host-mount-namespace names another)`,
        { cause },
      );
    }
    if (isMountNamespace(opened.number, path)) return opened;
    opened[Symbol.dispose]();
    throw new MounterError('EUNSUPPORTED', `${path} is not a mount namespace`);
  }

  /** mountinfo of the host: that of the process whose namespace it is. Its length is that of the mount table. */
  mountTable(): MountTable {
    const [, process] = /^(.+)\/ns\/mnt$/.exec(this.#mountNamespace) ?? [];
    if (process === undefined) {
      throw new MounterError(
        'EUNSUPPORTED',
        `cannot read the host's mount table: ${this.#mountNamespace} is not the namespace of a process, such as /proc/1/ns/mnt`,
      );
    }
    try {
      return MountTable.read(process);
    } catch (cause) {
      throw new MounterError(
        'EUNSUPPORTED',
        `cannot read the host's mount table: ${messageOf(cause)}`,
        { cause },
      );
    }
  }

  /** A path of the node for messages. */
  text(path: PodPath): string {
    return podPathText(this.kubeletDirectory, path);
  }

  /**
   * The directory that holds one directory per pod.
   *
   * @throws MounterError EUNSUPPORTED where it is not there: pods that are not seen would be taken for gone
   */
  openPods(): Descriptor {
    using root = Descriptor.open(this.root, O_PATH | constants.O_DIRECTORY);
    const pods = `${this.kubeletDirectory}/${podsDirectory}`;
    const found = ifThere(pods, () =>
      openat2(root.number, pods.replace(/^\/+/, ''), {
        flags: O_PATH | constants.O_DIRECTORY,
        resolve: RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
      }),
    );
    if (found) return found;
    throw new MounterError(
      'EUNSUPPORTED',
      `no directory ${pods} below ${this.root}: is --kubelet-dir the kubelet's, and --host-root the host's root?`,
    );
  }

  /**
   * The directory of a path that the kubelet has made, an emptyDir. Below `pods` no link is followed.
   *
   * @returns undefined where the pod, or its emptyDir, is not there
   */
  openDirectory(components: readonly string[]): Descriptor | undefined {
    using pods = this.openPods();
    return openDirectory(pods, components.slice(1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.thread[Symbol.asyncDispose]();
    await this.images[Symbol.asyncDispose]();
    this.#namespace?.[Symbol.dispose]();
  }
}

/** A directory below an open one, by components of which none is a link; undefined where it is not there. */
export function openDirectory(
  from: Descriptor,
  components: readonly string[],
): Descriptor | undefined {
  return openEntry(from, components, constants.O_DIRECTORY);
}

/**
 * Opens, with O_PATH, what is at a place that a pod can write, without following anything.
 *
 * @returns undefined where nothing is there
 * @throws MounterError EHOSTILE where a link is on the way
 */
export function openEntry(
  from: Descriptor,
  components: readonly string[],
  flags = 0,
): Descriptor | undefined {
  const path = components.join('/');
  return ifThere(
    () => `${readlinkSync(from.path)}/${path}`,
    () =>
      openat2(from.number, path, {
        flags: O_PATH | constants.O_NOFOLLOW | flags,
        resolve: confined,
      }),
  );
}

/** What is wrong with a path that is not followed. */
const refusals: Readonly<Record<string, string>> = {
  ELOOP: 'a symbolic link is there, which is not followed',
  ENOTDIR: 'what is there is not a directory',
  EXDEV: 'it leads out of where it is looked up',
};

function ifThere(path: string | (() => string), open: () => Descriptor): Descriptor | undefined {
  try {
    return open();
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined;
    const refusal = cause instanceof SyscallError ? refusals[cause.code] : undefined;
    if (refusal === undefined) throw cause;
    const text = typeof path === 'string' ? path : path();
    throw new MounterError('EHOSTILE', `cannot use ${text}: ${refusal}`, { cause });
  }
}
