import {
  attribute,
  BPF_CGROUP_DEVICE,
  BPF_F_REPLACE,
  BPF_LINK_GET_FD_BY_ID,
  BPF_LINK_GET_NEXT_ID,
  BPF_LINK_UPDATE,
  BPF_OBJ_GET_INFO_BY_FD,
  bpf,
} from './bpf.ts';
import { Descriptor } from './descriptor.ts';
import { NativeMemory } from './native-memory.ts';
import { hasCode } from './syscall-error.ts';

/** `enum bpf_link_type`. */
const BPF_LINK_TYPE_CGROUP = 3;

/** Length of `struct bpf_link_info`; the kernel takes a longer one if the rest is zero. */
const infoSize = 64;

/**
 * The link (BPF_LINK_CREATE, Linux 5.7) by which a device program is attached to a cgroup. Every link of the system
 * is looked at (Linux 5.8).
 *
 * @param cgroupId inode of the cgroup's directory
 */
export function findDeviceLink(cgroupId: bigint, programId: number): Descriptor | undefined {
  for (const id of linkIds()) {
    using link = openLink(id);
    if (link && isDeviceLink(link.number, cgroupId, programId)) return new Descriptor(link.take());
  }
  return undefined;
}

/** BPF_LINK_GET_NEXT_ID, one after another. */
function* linkIds(): Generator<number> {
  for (let id = 0; ; ) {
    const attr = attribute((struct) => struct.writeUInt32LE(id, 0)); // start_id
    try {
      bpf(BPF_LINK_GET_NEXT_ID, attr);
    } catch (error) {
      // ENOENT after the last one, EINVAL where the kernel has no links.
      if (hasCode(error, 'ENOENT', 'EINVAL')) return;
      throw error;
    }
    id = attr.readUInt32LE(4); // next_id
    yield id;
  }
}

/** BPF_LINK_GET_FD_BY_ID; undefined where it is gone by now, or is only just being made. */
function openLink(id: number): Descriptor | undefined {
  try {
    const attr = attribute((struct) => struct.writeUInt32LE(id, 0)); // link_id
    return new Descriptor(bpf(BPF_LINK_GET_FD_BY_ID, attr));
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EAGAIN')) return undefined;
    throw error;
  }
}

/** `struct bpf_link_info`: type 0, id 4, prog_id 8, and of a cgroup's link cgroup_id 16, attach_type 24. */
function isDeviceLink(link: number, cgroupId: bigint, programId: number): boolean {
  using info = new NativeMemory(infoSize);
  bpf(
    BPF_OBJ_GET_INFO_BY_FD,
    attribute((attr) => {
      attr.writeUInt32LE(link, 0); // bpf_fd
      attr.writeUInt32LE(info.bytes.length, 4); // info_len
      attr.writeBigUInt64LE(info.address, 8); // info
    }),
  );
  const struct = info.copy();
  return (
    struct.readUInt32LE(0) === BPF_LINK_TYPE_CGROUP &&
    struct.readUInt32LE(8) === programId &&
    struct.readBigUInt64LE(16) === cgroupId &&
    struct.readUInt32LE(24) === BPF_CGROUP_DEVICE
  );
}

/**
 * BPF_LINK_UPDATE with BPF_F_REPLACE.
 *
 * @throws SyscallError EPERM where `old` is not the link's program (any more), ENOLINK where its cgroup is gone
 */
export function updateLink(link: number, program: number, old: number): void {
  bpf(
    BPF_LINK_UPDATE,
    attribute((attr) => {
      attr.writeUInt32LE(link, 0); // link_fd
      attr.writeUInt32LE(program, 4); // new_prog_fd
      attr.writeUInt32LE(BPF_F_REPLACE, 8); // flags
      attr.writeUInt32LE(old, 12); // old_prog_fd
    }),
  );
}
