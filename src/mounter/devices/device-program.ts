import { fstatSync } from 'node:fs';
import {
  attachDeviceProgram,
  BPF_F_ALLOW_MULTI,
  queryDevicePrograms,
  replaceDeviceProgram,
} from '../../kernel/bpf-cgroup.ts';
import { findDeviceLink, updateLink } from '../../kernel/bpf-link.ts';
import { loadDeviceProgram, openProgram, programInfo } from '../../kernel/bpf-program.ts';
import type { Descriptor } from '../../kernel/descriptor.ts';
import { hasCode } from '../../kernel/syscall-error.ts';
import { isEquivalent, unblinded } from './constant-blinding.ts';
import { unloadable } from './filter-prefix.ts';

/** What was read is not attached any more: somebody has replaced it in between. */
export class ReplacedError extends Error {
  override readonly name = 'ReplacedError';
  readonly code = 'ESTALE';

  constructor(id: number, options?: ErrorOptions) {
    super(`its program ${id} was replaced by somebody else in between`, options);
  }
}

/** A device program of a cgroup, held, with its instructions. */
export class DeviceProgram implements Disposable {
  readonly id: number;
  readonly instructions: Buffer;
  readonly #name: string;
  readonly #descriptor: Descriptor;

  private constructor(descriptor: Descriptor) {
    const { id, name, instructions } = programInfo(descriptor.number);
    const plain = instructions && unblinded(instructions);
    if (plain === undefined) {
      const why = instructions
        ? 'they are blinded in an unknown way'
        : 'no CAP_PERFMON, or net.core.bpf_jit_harden with kernel.kptr_restrict';
      throw new Error(`the kernel does not show the instructions of its program ${id} (${why})`);
    }
    this.id = id;
    this.instructions = plain;
    this.#name = name;
    this.#descriptor = descriptor;
  }

  /** @throws ReplacedError where it is gone */
  static byId(id: number): DeviceProgram {
    try {
      return DeviceProgram.#of(openProgram(id));
    } catch (error) {
      throw hasCode(error, 'ENOENT') ? new ReplacedError(id, { cause: error }) : error;
    }
  }

  static #of(descriptor: Descriptor): DeviceProgram {
    try {
      return new DeviceProgram(descriptor);
    } catch (error) {
      descriptor[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Loads a program of the same name with other instructions. What the verifier makes of them has to be what was
   * asked for, or taking something out again would not give the old ones back.
   *
   * @throws VerifierError, E2BIG where the kernel takes no more
   */
  load(instructions: Buffer): DeviceProgram {
    const why = unloadable(this.instructions);
    if (why !== undefined) throw new Error(`its program ${this.id} cannot be loaded again: ${why}`);
    const loaded = DeviceProgram.#of(loadDeviceProgram(instructions, this.#name));
    if (isEquivalent(loaded.instructions, instructions)) return loaded;
    loaded[Symbol.dispose]();
    throw new Error(`its program ${this.id} is changed by the verifier when it is loaded again`);
  }

  /**
   * Puts another program in this one's place, at once, however it was attached.
   *
   * @param cgroup descriptor of the cgroup's directory
   * @param flags the cgroup's, by BPF_PROG_QUERY
   * @throws ReplacedError
   */
  replace(cgroup: number, flags: number, by: DeviceProgram): void {
    if (flags & BPF_F_ALLOW_MULTI) {
      this.#replaceOneOfSeveral(cgroup, by);
      return;
    }
    // A cgroup that takes only one has no such call: attaching another with the same flags replaces whatever is there.
    const { ids, flags: current } = queryDevicePrograms(cgroup);
    if (current !== flags || ids[0] !== this.id) throw new ReplacedError(this.id);
    attachDeviceProgram(cgroup, by.#descriptor.number, flags);
  }

  #replaceOneOfSeveral(cgroup: number, by: DeviceProgram): void {
    try {
      replaceDeviceProgram(cgroup, by.#descriptor.number, this.#descriptor.number);
    } catch (error) {
      if (hasCode(error, 'E2BIG')) {
        throw new Error(
          'it has as many programs as the kernel lets it have (64), and then none can be replaced',
          { cause: error },
        );
      }
      // EPERM and EINVAL: the cgroup has other flags by now.
      if (!hasCode(error, 'ENOENT', 'EPERM', 'EINVAL')) throw error;
      using link = findDeviceLink(fstatSync(cgroup, { bigint: true }).ino, this.id);
      if (link === undefined) throw new ReplacedError(this.id, { cause: error });
      this.#updateLink(link, by);
    }
  }

  #updateLink(link: Descriptor, by: DeviceProgram): void {
    try {
      updateLink(link.number, by.#descriptor.number, this.#descriptor.number);
    } catch (error) {
      throw hasCode(error, 'EPERM', 'ENOLINK')
        ? new ReplacedError(this.id, { cause: error })
        : error;
    }
  }

  [Symbol.dispose](): void {
    this.#descriptor[Symbol.dispose]();
  }
}
