import { constants } from 'node:fs';
import { effectiveDevicePrograms, queryDevicePrograms } from '../../kernel/bpf-cgroup.ts';
import { VerifierError } from '../../kernel/bpf-program.ts';
import { Descriptor } from '../../kernel/descriptor.ts';
import { hasCode } from '../../kernel/syscall-error.ts';
import { MounterError, messageOf } from '../mounter-error.ts';
import { DeviceProgram, ReplacedError } from './device-program.ts';
import { type DeviceRule, isSameDevice, ruleText } from './device-rule.ts';
import { devicesOf, withDevice, withoutDevice } from './filter-prefix.ts';

/** How often the programs are read again because somebody replaced one of them in between. */
const attempts = 200;

/** Milliseconds at most between two tries, by chance, so that two do not meet each other for ever. */
const longestPause = 10;

type Edit = (program: Buffer) => Buffer;

/** A change of one program that was made. */
interface Swap {
  readonly before: DeviceProgram;
  readonly after: DeviceProgram;
}

/**
 * The device programs of a cgroup v2. Each that is attached has to allow an access, so each gets the same test for
 * the device put in front of it; what was there before stays behind it, instruction by instruction.
 */
export class DeviceFilter implements Disposable {
  readonly path: string;
  readonly #directory: Descriptor;

  /** @throws Error of Node.js, ENOENT where the cgroup is gone */
  constructor(path: string) {
    this.path = path;
    this.#directory = Descriptor.open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  }

  /**
   * Allows all access to a device. Nothing has to be done where no program is attached: then every device is allowed.
   *
   * @returns whether something had to be changed
   * @throws MounterError ECGROUP; then nothing is changed
   */
  allow(rule: DeviceRule): boolean {
    return this.#attempt(rule, () => this.#edit((program) => withDevice(program, rule)));
  }

  /** Takes a rule away that was made here, and nothing else. @returns whether it was there */
  withdraw(rule: DeviceRule): boolean {
    return this.#attempt(rule, () => this.#edit((program) => withoutDevice(program, rule)));
  }

  /** Whether the rule was made here, in every program. One that was there before is not looked for. */
  has(rule: DeviceRule): boolean {
    return this.#attempt(rule, () =>
      this.attached.every((id) => {
        using program = DeviceProgram.byId(id);
        return devicesOf(program.instructions).some((each) => isSameDevice(each, rule));
      }),
    );
  }

  /** Ids of the programs that are attached here. */
  get attached(): readonly number[] {
    return queryDevicePrograms(this.#directory.number).ids;
  }

  /** Ids of all programs that have a say here, those of the cgroups above among them. */
  get effective(): readonly number[] {
    return effectiveDevicePrograms(this.#directory.number);
  }

  /** Tries again with what is there then, where somebody replaced a program in between. */
  #attempt<Result>(rule: DeviceRule, action: () => Result): Result {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return action();
      } catch (error) {
        if (!(error instanceof ReplacedError) || attempt === attempts) {
          throw this.#failure(rule, error);
        }
        pause(Math.random() * longestPause);
      }
    }
  }

  /** Edits every program, or none. @returns whether there was something to edit */
  #edit(edit: Edit): boolean {
    const swaps: Swap[] = [];
    const { ids, flags } = queryDevicePrograms(this.#directory.number);
    try {
      for (const id of ids) {
        const swap = this.#editOne(id, flags, edit);
        if (swap) swaps.push(swap);
      }
      return swaps.length > 0;
    } catch (error) {
      this.#undo(swaps, flags, error);
      throw error;
    } finally {
      for (const { before, after } of swaps) {
        before[Symbol.dispose]();
        after[Symbol.dispose]();
      }
    }
  }

  /** @returns undefined where the program is as it has to be */
  #editOne(id: number, flags: number, edit: Edit): Swap | undefined {
    const before = DeviceProgram.byId(id);
    let after: DeviceProgram | undefined;
    try {
      const wanted = edit(before.instructions);
      if (wanted !== before.instructions) {
        after = before.load(wanted);
        before.replace(this.#directory.number, flags, after);
        return { before, after };
      }
    } catch (error) {
      after?.[Symbol.dispose]();
      before[Symbol.dispose]();
      throw error;
    }
    before[Symbol.dispose]();
    return undefined;
  }

  #undo(swaps: readonly Swap[], flags: number, cause: unknown): void {
    for (const { before, after } of [...swaps].reverse()) {
      try {
        after.replace(this.#directory.number, flags, before);
      } catch (error) {
        // Somebody has replaced it meanwhile: what is there now is theirs.
        if (error instanceof ReplacedError) continue;
        throw new Error(
          `${messageOf(cause)}; and its program ${after.id} cannot be put back: ${messageOf(error)}`,
          { cause },
        );
      }
    }
  }

  #failure(rule: DeviceRule, cause: unknown): MounterError {
    const why = isTooLong(cause)
      ? 'its program would be longer than the kernel takes, or shows'
      : messageOf(cause);
    return new MounterError(
      'ECGROUP',
      `cannot change the devices of ${this.path} for "${ruleText(rule)}": ${why}`,
      { cause },
    );
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }
}

function isTooLong(error: unknown): boolean {
  return hasCode(error, 'ENOMEM') || (error instanceof VerifierError && hasCode(error, 'E2BIG'));
}

/** The edit of a program is one piece for whoever calls it, and so is the waiting in it. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
