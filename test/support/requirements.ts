import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findCloudKernel } from './cloud-kernel.ts';

/** What a test needs from the machine beyond Node.js, and how a person would provide it. */
const providers = {
  root: { met: () => process.getuid?.() === 0, provide: 'run the tests as root (sudo npm test)' },
  'g++': { met: () => onPath('g++'), provide: 'apt-get install g++' },
  unshare: { met: () => onPath('unshare'), provide: 'apt-get install util-linux' },
  setpriv: { met: () => onPath('setpriv'), provide: 'apt-get install util-linux' },
  readelf: { met: () => onPath('readelf'), provide: 'apt-get install binutils' },
  strace: { met: () => onPath('strace'), provide: 'apt-get install strace' },
  losetup: { met: () => onPath('losetup'), provide: 'apt-get install mount' },
  mkfs: { met: () => onPath('mkfs.ext4'), provide: 'apt-get install e2fsprogs' },
  'qemu-img': { met: () => onPath('qemu-img'), provide: 'apt-get install qemu-utils' },
  runc: { met: () => onPath('runc'), provide: 'apt-get install runc' },
  skopeo: { met: () => onPath('skopeo'), provide: 'apt-get install skopeo' },
  qemu: {
    met: () => onPath('qemu-system-x86_64'),
    provide: 'apt-get install qemu-system-x86',
  },
  libvirt: {
    met: () => onPath('virsh') && onPath('libvirtd'),
    provide: 'apt-get install libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients',
  },
  'cloud kernel': {
    met: () => findCloudKernel() !== undefined,
    provide: 'apt-get install linux-image-cloud-amd64, which the next boot may choose',
  },
  man: { met: () => onPath('man'), provide: 'apt-get install man-db' },
  groff: { met: () => onPath('groff'), provide: 'apt-get install groff-base' },
  mandoc: { met: () => onPath('mandoc'), provide: 'apt-get install mandoc' },
  zsh: { met: () => onPath('zsh'), provide: 'apt-get install zsh' },
  fish: { met: () => onPath('fish'), provide: 'apt-get install fish' },
  fuse: { met: () => existsSync('/dev/fuse') && onPath('perl'), provide: 'modprobe fuse' },
  containerd: {
    met: () => onPath('containerd') && onPath('ctr') && onPath('runc'),
    provide: 'apt-get install containerd runc',
  },
  'cgroup2 mount': {
    met: () =>
      existsSync('/sys/fs/cgroup/cgroup.procs') ||
      existsSync('/sys/fs/cgroup/unified/cgroup.procs'),
    provide: 'mount -t cgroup2 none /sys/fs/cgroup/unified',
  },
} satisfies Record<string, { met: () => boolean; provide: string }>;

export type Requirement = keyof typeof providers;

function onPath(program: string): boolean {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * The value for tap's `skip` option: false where everything is there, else the reason and the command
 * that would provide it. With `CI=true` nothing is skipped: it throws, so that a missing tool fails the run.
 */
export function skipUnless(...needed: Requirement[]): false | string {
  const missing = needed.filter((name) => !providers[name].met());
  if (missing.length === 0) return false;
  const reason = missing.map((name) => `no ${name} (${providers[name].provide})`).join(', ');
  if (process.env['CI'] === 'true') throw new Error(`a test's requirement is missing: ${reason}`);
  return reason;
}
