import { isUid } from './names.ts';
import { printable } from './printable.ts';

/**
 * A place in an emptyDir of a pod, as components, so that it can be opened one by one: below the
 * kubelet's directory, which may be or contain a symbolic link.
 */
export interface PodPath {
  /** The emptyDir. The kubelet made these directories, no pod can replace them; `pods` may be a symbolic link. */
  readonly directory: readonly string[];
  /** Below it everything is under the pod's control: nothing there is to be followed. */
  readonly entry: readonly string[];
}

/** Where the kubelet keeps the directories of pods, one for each uid, below its own directory. */
export const podsDirectory = 'pods';

/**
 * `pods/<uid>/volumes/kubernetes.io~empty-dir/<name>`
 *
 * @throws {RangeError} where the uid is not a plain name
 */
export function emptyDir(podUID: string, name: string): readonly string[] {
  if (!isUid(podUID)) {
    throw new RangeError(`"${printable(podUID)}" is not a pod's uid: it has to be one plain name`);
  }
  return [podsDirectory, podUID, 'volumes', 'kubernetes.io~empty-dir', name];
}

/** A path for messages and records; what is opened is opened by its components. */
export function podPathText(kubeletDirectory: string, path: PodPath): string {
  return [kubeletDirectory.replace(/\/+$/, ''), ...path.directory, ...path.entry].join('/');
}
