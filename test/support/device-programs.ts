import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type CgroupVersion, PodCgroup } from '../../scripts/demo/pod-cgroup.ts';
import { attribute, BPF_CGROUP_DEVICE, bpf } from '../../src/kernel/bpf.ts';
import { attachDeviceProgram, queryDevicePrograms } from '../../src/kernel/bpf-cgroup.ts';
import { loadDeviceProgram, openProgram, programInfo } from '../../src/kernel/bpf-program.ts';
import { Descriptor } from '../../src/kernel/descriptor.ts';
import type { DeviceRule } from '../../src/mounter/devices/device-rule.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const BPF_LINK_CREATE = 28;

/** A pod's cgroup, which goes with the test. */
export function podCgroup(t: Test, version: CgroupVersion, podUID: string): PodCgroup {
  const cgroup = new PodCgroup(version, podUID);
  t.teardown(() => cgroup[Symbol.asyncDispose]());
  return cgroup;
}

/** Attaches a device program to a cgroup, as a runtime does. */
export function attach(directory: string, program: Buffer, flags: number, name = ''): void {
  using cgroup = Descriptor.open(directory, 0);
  using loaded = loadDeviceProgram(program, name);
  attachDeviceProgram(cgroup.number, loaded.number, flags);
}

/** The same by a link, as other runtimes do: it stays for as long as the link's descriptor is open. */
export function attachByLink(t: Test, directory: string, program: Buffer): void {
  using cgroup = Descriptor.open(directory, 0);
  using loaded = loadDeviceProgram(program);
  const link = new Descriptor(
    bpf(
      BPF_LINK_CREATE,
      attribute((attr) => {
        attr.writeUInt32LE(loaded.number, 0); // prog_fd
        attr.writeUInt32LE(cgroup.number, 4); // target_fd
        attr.writeUInt32LE(BPF_CGROUP_DEVICE, 8); // attach_type
      }),
    ),
  );
  t.teardown(() => link[Symbol.dispose]());
}

/** The instructions of what is attached to a cgroup, in order. */
export function attached(directory: string): string[] {
  return attachedInfo(directory).map(({ instructions }) => instructions?.toString('hex') ?? '');
}

export function attachedInfo(directory: string) {
  using cgroup = Descriptor.open(directory, 0);
  return queryDevicePrograms(cgroup.number).ids.map((id) => {
    using program = openProgram(id);
    return programInfo(program.number);
  });
}

/** A node of a device that everybody may open, as far as its cgroup lets them. */
export function deviceNode(t: Test, { type, major, minor }: DeviceRule): string {
  const directory = temporaryDirectory(t);
  execFileSync('chmod', ['755', directory]);
  const path = join(directory, 'node');
  execFileSync('mknod', ['-m', '666', path, type, String(major), String(minor)]);
  return path;
}

/** The number of a device of this machine. */
export function deviceNumber(path: string): { major: number; minor: number } {
  const text = execFileSync('stat', ['-c', '%Hr %Lr', path], { encoding: 'utf8' });
  const [major = 0, minor = 0] = text.trim().split(' ').map(Number);
  return { major, minor };
}

/** An instruction (`struct bpf_insn`). */
export function instruction(
  opcode: number,
  destination = 0,
  source = 0,
  offset = 0,
  immediate = 0,
): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(opcode, 0);
  bytes.writeUInt8((source << 4) | destination, 1);
  bytes.writeInt16LE(offset, 2);
  bytes.writeInt32LE(immediate, 4);
  return bytes;
}
