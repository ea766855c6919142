import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRoot, qemu } from './container.ts';

/** A node's directories in a temporary folder: what the kubelet makes for pods, and where images are unpacked. */
export class NodeDirectories implements Disposable {
  readonly root = mkdtempSync(join(realpathSync(tmpdir()), 'container-disk-demo-'));
  readonly kubelet = join(this.root, 'var/lib/kubelet');
  #count = 0;
  #isShared = false;

  /** The temporary folder is for its maker alone; what is below it is for the users of pods, too. */
  constructor() {
    chmodSync(this.root, 0o755);
  }

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

  /** As on a node, mounts below the kubelet's directory are passed on to containers that ask for them. */
  shareMounts(): void {
    mkdirSync(this.kubelet, { recursive: true });
    execFileSync('mount', ['--bind', this.kubelet, this.kubelet]);
    execFileSync('mount', ['--make-shared', this.kubelet]);
    this.#isShared = true;
  }

  pod(): PodDirectories {
    return new PodDirectories(this.kubelet, randomUUID());
  }

  [Symbol.dispose](): void {
    if (this.#isShared) execFileSync('umount', ['--lazy', this.kubelet]);
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
