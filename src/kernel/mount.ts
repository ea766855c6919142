import { Descriptor } from './descriptor.ts';
import { call } from './libc.ts';
import { syscallNumber } from './syscall-number.ts';

const AT_EMPTY_PATH = 0x1000;
const OPEN_TREE_CLONE = 1;
const OPEN_TREE_CLOEXEC = 0o2000000;
const MOVE_MOUNT_F_EMPTY_PATH = 0x04;
const MOVE_MOUNT_T_EMPTY_PATH = 0x40;
const MNT_DETACH = 2;
const MS_RDONLY = 0x1;
const MS_NOSUID = 0x2;
const MS_NODEV = 0x4;
const MS_NOEXEC = 0x8;
const MS_REMOUNT = 0x20;
const MS_BIND = 0x1000;
const MS_PRIVATE = 0x40000;

/** What a mount forbids, as in mount(8). */
export interface MountAttributes {
  readonly readOnly: boolean;
  readonly nosuid: boolean;
  readonly nodev: boolean;
  readonly noexec: boolean;
}

/** MOUNT_ATTR_* of mount_setattr(2) and MS_* of mount(2) have the same numbers for these four. */
function attributeBits({ readOnly, nosuid, nodev, noexec }: MountAttributes): number {
  return (
    (readOnly ? MS_RDONLY : 0) |
    (nosuid ? MS_NOSUID : 0) |
    (nodev ? MS_NODEV : 0) |
    (noexec ? MS_NOEXEC : 0)
  );
}

/**
 * open_tree(2) with OPEN_TREE_CLONE, Linux 5.2: a mount of the open file or directory that is attached nowhere,
 * and goes away with its descriptor. The file has to be on a mount of the calling thread's mount namespace.
 */
export function openTree(fd: number, path: string): Descriptor {
  return new Descriptor(
    call(
      'long syscall(long number, int dirfd, const char *path, unsigned int flags)',
      'open_tree',
      path,
      syscallNumber('open_tree'),
      fd,
      '',
      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH,
    ),
  );
}

/** `struct mount_attr`: four 64-bit numbers, 32 bytes: attr_set, attr_clr, propagation, userns_fd. */
const attr = Buffer.alloc(32);

/**
 * mount_setattr(2), Linux 5.12.
 *
 * A clone is a peer, or a slave, of the mount that it was made of (mount_namespaces(7)): what is mounted below one
 * appears below the other, with none of these attributes. So it is made private, too.
 */
export function mountSetattr(mount: number, attributes: MountAttributes, path: string): void {
  attr.writeUInt32LE(attributeBits(attributes), 0);
  attr.writeUInt32LE(MS_PRIVATE, 16);
  call(
    'long syscall(long number, int dirfd, const char *path, unsigned int flags, const uint8_t *attr, size_t size)',
    'mount_setattr',
    path,
    syscallNumber('mount_setattr'),
    mount,
    '',
    AT_EMPTY_PATH,
    attr,
    attr.length,
  );
}

/** move_mount(2), Linux 5.2: attaches a mount of {@link openTree} on top of the open file or directory. */
export function moveMount(mount: number, target: number, path: string): void {
  call(
    'long syscall(long number, int from, const char *fromPath, int to, const char *toPath, unsigned int flags)',
    'move_mount',
    path,
    syscallNumber('move_mount'),
    mount,
    '',
    target,
    '',
    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH,
  );
}

/** mount(2) with MS_BIND. The source and the target may be paths of descriptors. */
export function bindMount(source: string, target: string): void {
  mount(source, target, MS_BIND);
}

/** mount(2) with MS_REMOUNT|MS_BIND, and MS_PRIVATE: what {@link mountSetattr} does, before Linux 5.12. */
export function remountBind(target: string, attributes: MountAttributes): void {
  mount('none', target, MS_REMOUNT | MS_BIND | attributeBits(attributes));
  mount('none', target, MS_PRIVATE);
}

function mount(source: string, target: string, flags: number): void {
  call(
    'int mount(const char *source, const char *target, const char *type, unsigned long flags, const uint8_t *data)',
    'mount',
    target,
    source,
    target,
    null,
    flags,
    null,
  );
}

/**
 * umount2(2) with MNT_DETACH of the mount whose root is open. A mount that is held by a descriptor is busy, so
 * the tree is taken out of sight at once, and goes away when the descriptor is closed.
 */
export function detachMount(fd: number, path: string): void {
  call(
    'int umount2(const char *target, int flags)',
    'umount2',
    path,
    `/proc/self/fd/${fd}`,
    MNT_DETACH,
  );
}
