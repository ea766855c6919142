import { parseCgroup } from '../kernel/cgroup.ts';

/** A pod's component of a path, as the cgroupfs and the systemd driver of the kubelet name it. */
const podComponent =
  /^(?:.*-)?pod([0-9a-f]{8}([-_])[0-9a-f]{4}\2[0-9a-f]{4}\2[0-9a-f]{4}\2[0-9a-f]{12})(?:\.slice)?$/;

/** The uid of the pod that a component of a cgroup's path is of. */
export function podOfComponent(component: string): string | undefined {
  return podComponent.exec(component)?.[1]?.replaceAll('_', '-');
}

/**
 * The uids of the pods that a process's cgroups are of; none where it was not started by a kubelet.
 *
 * @param text of proc_pid_cgroup(5)
 */
export function podsOfCgroups(text: string): string[] {
  const uids = parseCgroup(text)
    .flatMap(({ path }) => path.split('/'))
    .flatMap((component) => podOfComponent(component) ?? []);
  return [...new Set(uids)];
}
