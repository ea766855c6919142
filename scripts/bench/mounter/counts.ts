/** Disks on a node. */
export const counts = [1, 10, 100, 1000];

/** Unrelated mounts on the host. */
export const otherMounts = [50, 500, 5000];
