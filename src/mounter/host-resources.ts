import { constants } from 'node:fs';
import { Descriptor } from '../kernel/descriptor.ts';
import { type MountNamespace, MountThread } from '../kernel/mount-thread.ts';
import { isMountNamespace } from '../kernel/namespace.ts';
import { type FileStatus, statx } from '../kernel/statx.ts';
import type { HostOptions } from './host-options.ts';
import { ImageThreads } from './image-threads.ts';
import { MounterError, messageOf } from './mounter-error.ts';

/** What is kept of a node from one verb to the next: threads, and its mount namespace. */
export class HostResources implements AsyncDisposable {
  readonly thread = new MountThread();
  readonly images = new ImageThreads();
  readonly #path: string;
  #namespace: Descriptor | undefined;
  #status: FileStatus | undefined;

  constructor({ hostMountNamespace }: HostOptions) {
    this.#path = hostMountNamespace ?? '/proc/1/ns/mnt';
  }

  /** Starts the threads that a mount needs, while what it needs first is still looked up. */
  startThreads(): void {
    this.images.start();
    this.thread.start();
  }

  /** @throws MounterError EUNSUPPORTED */
  get mountNamespace(): MountNamespace {
    this.#namespace ??= openMountNamespace(this.#path);
    return { fd: this.#namespace.number, path: this.#path };
  }

  /** Which file the mount namespace is (namespaces(7)). */
  get mountNamespaceStatus(): FileStatus {
    this.#status ??= statx(this.mountNamespace.fd);
    return this.#status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.thread[Symbol.asyncDispose]();
    await this.images[Symbol.asyncDispose]();
    this.#namespace?.[Symbol.dispose]();
  }
}

function openMountNamespace(path: string): Descriptor {
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
