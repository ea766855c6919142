import { constants, fstatSync } from 'node:fs';
import {
  attachDeviceProgram,
  BPF_F_ALLOW_MULTI,
  queryDevicePrograms,
  replaceDeviceProgram,
} from '../../kernel/bpf-cgroup.ts';
import { findDeviceLink, updateLink } from '../../kernel/bpf-link.ts';
import { loadDeviceProgram, openProgram, programInfo } from '../../kernel/bpf-program.ts';
import { Descriptor } from '../../kernel/descriptor.ts';
import { hasCode } from '../../kernel/syscall-error.ts';
import { MounterError, messageOf } from '../mounter-error.ts';
import type { DeviceCgroup } from './device-cgroup.ts';
import { type DeviceRule, isSameRule, ruleText } from './device-rule.ts';
import { devicesOf, unloadable, withDevice, withoutDevice } from './filter-prefix.ts';

/** How often the programs are read again because somebody replaced one of them in between. */
const attempts = 200;

/** Milliseconds at most between two tries, by chance, so that two do not meet each other for ever. */
const longestPause = 10;

/** A change of one program that was made. */
interface Swap {
  readonly before: Descriptor;
  readonly after: Descriptor;
}

/**
 * The device programs of a cgroup v2. Each that is attached has to allow an access, so each gets the same test for
 * the device put in front of it; what was there before stays behind it, instruction by instruction.
 */
export class DeviceFilter implements DeviceCgroup {
  readonly path: string;
  readonly marksItsOwn = true;
  readonly #directory: Descriptor;

  constructor(path: string) {
    this.path = path;
    this.#directory = Descriptor.open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  }

  /** Nothing has to be done where no program is attached: then every device is allowed. */
  allow(rule: DeviceRule): boolean {
    return this.#editAll(rule, (program) => withDevice(program, rule));
  }

  withdraw(rule: DeviceRule): boolean {
    return this.#editAll(rule, (program) => withoutDevice(program, rule));
  }

  has(rule: DeviceRule): boolean {
    return queryDevicePrograms(this.#directory.number).ids.every((id) => {
      using program = openProgram(id);
      return devicesOf(this.#read(program, rule)).some((each) => isSameRule(each, rule));
    });
  }

  #editAll(rule: DeviceRule, edit: (program: Buffer) => Buffer): boolean {
    for (let attempt = 1; ; attempt += 1) {
      const swaps: Swap[] = [];
      try {
        const { ids, flags } = queryDevicePrograms(this.#directory.number);
        for (const id of ids) {
          const swap = this.#editOne(id, flags, rule, edit);
          if (swap) swaps.push(swap);
        }
        return swaps.length > 0;
      } catch (error) {
        this.#undo(swaps);
        const wasReplaced = hasCode(error, 'ENOENT', 'ESTALE');
        if (!wasReplaced || attempt === attempts) throw this.#failure(rule, error);
        pause(Math.random() * longestPause);
      } finally {
        for (const { before, after } of swaps) {
          before[Symbol.dispose]();
          after[Symbol.dispose]();
        }
      }
    }
  }

  /** @returns undefined where the program is as it has to be */
  #editOne(
    id: number,
    flags: number,
    rule: DeviceRule,
    edit: (program: Buffer) => Buffer,
  ): Swap | undefined {
    const before = openProgram(id);
    try {
      const current = this.#read(before, rule);
      const wanted = edit(current);
      if (wanted === current) {
        before[Symbol.dispose]();
        return undefined;
      }
      const after = this.#load(wanted);
      try {
        this.#swap(before, after, flags, id);
        return { before, after };
      } catch (error) {
        after[Symbol.dispose]();
        throw error;
      }
    } catch (error) {
      before[Symbol.dispose]();
      throw error;
    }
  }

  #read(program: Descriptor, rule: DeviceRule): Buffer {
    const instructions = programInfo(program.number).instructions;
    if (instructions === undefined) {
      throw this.#failure(
        rule,
        new Error(
          'the kernel does not show the instructions of its program (CAP_PERFMON, kernel.bpf_jit_harden)',
        ),
      );
    }
    return instructions;
  }

  /** What the verifier makes of it has to be what was written, or taking it out again would not give the old back. */
  #load(wanted: Buffer): Descriptor {
    const why = unloadable(wanted);
    if (why !== undefined) throw new Error(`its program cannot be loaded again: ${why}`);
    const loaded = loadDeviceProgram(wanted);
    if (programInfo(loaded.number).instructions?.equals(wanted)) return loaded;
    loaded[Symbol.dispose]();
    throw new Error('its program is changed by the verifier when it is loaded again');
  }

  #swap(before: Descriptor, after: Descriptor, flags: number, id: number): void {
    const cgroup = this.#directory.number;
    if (!(flags & BPF_F_ALLOW_MULTI)) {
      // The only program of a cgroup that takes one: attaching another with the same flags replaces it at once.
      attachDeviceProgram(cgroup, after.number, flags);
      return;
    }
    try {
      replaceDeviceProgram(cgroup, after.number, before.number);
    } catch (error) {
      using link = hasCode(error, 'ENOENT')
        ? findDeviceLink(fstatSync(cgroup, { bigint: true }).ino, id)
        : undefined;
      if (link === undefined) throw error;
      updateLink(link.number, after.number, before.number);
    }
  }

  #undo(swaps: readonly Swap[]): void {
    const { flags } = queryDevicePrograms(this.#directory.number);
    for (const { before, after } of [...swaps].reverse()) {
      try {
        this.#swap(after, before, flags, 0);
      } catch (error) {
        // Somebody has replaced it meanwhile: what is there now is theirs.
        if (!hasCode(error, 'ENOENT')) throw error;
      }
    }
  }

  #failure(rule: DeviceRule, cause: unknown): MounterError {
    if (cause instanceof MounterError) return cause;
    const limit = hasCode(cause, 'E2BIG', 'ENOMEM')
      ? 'its program would be longer than the kernel takes, or shows'
      : messageOf(cause);
    return new MounterError(
      'ECGROUP',
      `cannot change the devices of ${this.path} for "${ruleText(rule)}": ${limit}`,
      { cause },
    );
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }
}

/** The edit of a program is one piece for whoever calls it, and so is the waiting in it. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
