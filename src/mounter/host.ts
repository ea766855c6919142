import { constants, existsSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Descriptor } from '../kernel/descriptor.ts';
import { MountTable } from '../kernel/mount-table.ts';
import type { MountNamespace, MountThread } from '../kernel/mount-thread.ts';
import { O_PATH } from '../kernel/open-flags.ts';
import {
  openat2IfThere,
  RESOLVE_BENEATH,
  RESOLVE_IN_ROOT,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
} from '../kernel/openat2.ts';
import type { FileStatus } from '../kernel/statx.ts';
import { SyscallError } from '../kernel/syscall-error.ts';
import { kubeVirtLayout, type Layout } from '../kubevirt/layout.ts';
import { type PodPath, podPathText, podsDirectory } from '../kubevirt/pod-path.ts';
import type { OtherFormat } from './disk/other-format.ts';
import type { HostOptions, Owner, Strategy } from './host-options.ts';
import { HostResources } from './host-resources.ts';
import type { ImageThreads } from './image-threads.ts';
import { MounterError, messageOf } from './mounter-error.ts';

/** Nothing that a pod can write is followed, and nothing leads out of where it is looked up. */
const confined = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

/** uid and gid of `qemu` in KubeVirt's images. */
const qemu = 107;

/**
 * The node as one verb sees it: its directories, opened step by step and held until the verb ends, and the threads
 * that change its mounts.
 */
export class Host implements Disposable {
  readonly root: string;
  readonly kubeletDirectory: string;
  readonly stateDirectory: string;
  readonly owner: Owner;
  readonly strategy: Strategy;
  readonly layout: Layout;
  readonly allowFormats: readonly OtherFormat[];
  readonly timeout: number;
  readonly #options: HostOptions;
  readonly #resources: HostResources;
  readonly #directories = new Map<string, Descriptor>();
  #hasStages: boolean | undefined;

  /** @param resources are kept from one verb to the next, and disposed of by whoever made them */
  constructor(options: HostOptions = {}, resources = new HostResources(options)) {
    this.#options = options;
    this.#resources = resources;
    this.root = options.hostRoot ?? '/';
    this.kubeletDirectory = options.kubeletDirectory ?? '/var/lib/kubelet';
    this.stateDirectory = options.stateDirectory ?? '/run/container-disk/mounts';
    this.owner = options.owner ?? { uid: qemu, gid: qemu };
    this.strategy = options.strategy ?? 'auto';
    this.layout = options.layout ?? kubeVirtLayout;
    this.allowFormats = options.allowFormats ?? [];
    this.timeout = options.timeout ?? 10_000;
  }

  /** The same node, of which no directory is open yet. */
  again(): Host {
    return new Host(this.#options, this.#resources);
  }

  startThreads(): void {
    this.#resources.startThreads();
  }

  get thread(): MountThread {
    return this.#resources.thread;
  }

  get images(): ImageThreads {
    return this.#resources.images;
  }

  /** The host's mount namespace, in which targets are mounted. */
  get mountNamespace(): MountNamespace {
    return this.#resources.mountNamespace;
  }

  /** Which file that is. */
  get mountNamespaceStatus(): FileStatus {
    return this.#resources.mountNamespaceStatus;
  }

  /** Whether a run that was killed may have left a stage: whoever has the lock of a virtual machine makes its own. */
  get hasStages(): boolean {
    this.#hasStages ??= existsSync(stagesOf(this.stateDirectory));
    return this.#hasStages;
  }

  /** mountinfo of the host: that of the process whose namespace it is. Its length is that of the mount table. */
  mountTable(): MountTable {
    const { path } = this.mountNamespace;
    const [, process] = /^(.+)\/ns\/mnt$/.exec(path) ?? [];
    if (process === undefined) {
      throw new MounterError(
        'EUNSUPPORTED',
        `cannot read the host's mount table: ${path} is not the namespace of a process, such as /proc/1/ns/mnt`,
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
    return this.#keep(podsDirectory, () => this.#openPods()).share();
  }

  #openPods(): Descriptor {
    using root = Descriptor.open(this.root, O_PATH | constants.O_DIRECTORY);
    const pods = `${this.kubeletDirectory}/${podsDirectory}`;
    const found = confinedOpen(pods, () =>
      openat2IfThere(root.number, pods.replace(/^\/+/, ''), {
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
    const key = components.join('/');
    const known = this.#directories.get(key);
    if (known) return known.share();
    using pods = this.openPods();
    const found = openDirectory(pods, components.slice(1));
    return found && this.#keep(key, () => found).share();
  }

  #keep(key: string, open: () => Descriptor): Descriptor {
    const kept = this.#directories.get(key) ?? open();
    this.#directories.set(key, kept);
    return kept;
  }

  [Symbol.dispose](): void {
    for (const directory of this.#directories.values()) directory[Symbol.dispose]();
    this.#directories.clear();
  }
}

/** The directory of the stages; see stage.ts. */
export function stagesOf(stateDirectory: string): string {
  return join(stateDirectory, 'stage');
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
  return confinedOpen(
    () => `${readlinkSync(from.path)}/${path}`,
    () =>
      openat2IfThere(from.number, path, {
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

/** @throws MounterError EHOSTILE */
function confinedOpen(
  path: string | (() => string),
  open: () => Descriptor | undefined,
): Descriptor | undefined {
  try {
    return open();
  } catch (cause) {
    const refusal = cause instanceof SyscallError ? refusals[cause.code] : undefined;
    if (refusal === undefined) throw cause;
    const text = typeof path === 'string' ? path : path();
    throw new MounterError('EHOSTILE', `cannot use ${text}: ${refusal}`, { cause });
  }
}
