import { randomUUID } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRoot, qemu } from './container.ts';

/** A node's directories in a temporary folder: what the kubelet makes for pods, and where images are unpacked. */
export class NodeDirectories implements Disposable {
  readonly root = mkdtempSync(join(realpathSync(tmpdir()), 'container-disk-demo-'));
  readonly kubelet = join(this.root, 'var/lib/kubelet');
  #count = 0;

  /** An image's root, empty. */
  image(name: string): string {
    const path = join(this.root, 'images', name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** A directory for a container's upper layer, of a name of its own. */
  scratch(): string {
    this.#count += 1;
    return join(this.root, 'containers', String(this.#count));
  }

  pod(): PodDirectories {
    return new PodDirectories(this.kubelet, randomUUID());
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** A pod's emptyDir volumes as the kubelet makes them. */
export class PodDirectories {
  readonly uid: string;
  readonly #emptyDirs: string;

  constructor(kubelet: string, uid: string) {
    this.uid = uid;
    this.#emptyDirs = join(kubelet, 'pods', uid, 'volumes/kubernetes.io~empty-dir');
  }

  emptyDir(name: string): string {
    const path = join(this.#emptyDirs, name);
    mkdirSync(path, { recursive: true });
    if (isRoot) chownSync(path, qemu, qemu);
    return path;
  }
}
