import { existsSync } from 'node:fs';
import { messageOf } from '../mounter-error.ts';
import type { DeviceFilter } from './device-filter.ts';
import type { DeviceList } from './device-list.ts';
import { type DeviceRule, ruleText } from './device-rule.ts';

/** A rule that was made, and what takes it away again. */
export interface AllowedDevice {
  /** Whether anything had to be changed. */
  readonly isNew: boolean;
  undo(): void;
}

/** Which devices a pod's container can use: the cgroups that have a say, of both versions. */
export class PodDevices implements Disposable {
  readonly #lists: readonly DeviceList[];
  readonly #filters: readonly DeviceFilter[];

  /**
   * @param lists of cgroup v1
   * @param filters of cgroup v2, the container's first, then those above it up to its pod's; they are owned from here on
   */
  constructor(lists: readonly DeviceList[], filters: readonly DeviceFilter[]) {
    this.#lists = lists;
    this.#filters = filters;
  }

  /** The directories of the cgroups. */
  get directories(): string[] {
    return [...this.#lists, ...this.#filters].map(({ path }) => path);
  }

  /** Whether the device can be used, as far as it can be known. */
  has(rule: DeviceRule): boolean {
    return !this.missing(rule) && this.#filters.every((filter) => filter.has(rule));
  }

  /**
   * The letters of the rule's access that are missing in a list of cgroup v1, to be remembered until it is withdrawn;
   * undefined where there is no list.
   */
  missing(rule: DeviceRule): string | undefined {
    if (this.#lists.length === 0) return undefined;
    const missing = this.#lists.map((list) => list.missing(rule)).join('');
    return [...new Set(missing)].join('');
  }

  /** Whether programs of cgroups above the pod have a say, too. They are of all pods, and not ours to change. */
  get isDecidedAbove(): boolean {
    const own = new Set(this.#filters.flatMap((filter) => filter.attached));
    return this.#filters[0]?.effective.some((id) => !own.has(id)) ?? false;
  }

  /**
   * Allows a device in all cgroups; every permission that was there stays.
   *
   * @throws MounterError ECGROUP; then nothing is changed
   */
  allow(rule: DeviceRule): AllowedDevice {
    const undone: (() => void)[] = [];
    const undo = () => inTurn(undone.splice(0).reverse());
    try {
      for (const list of this.#lists) {
        const access = list.allow(rule);
        if (access !== '') undone.push(() => list.withdraw({ ...rule, access }));
      }
      for (const filter of this.#filters) {
        if (filter.allow(rule)) undone.push(() => filter.withdraw(rule));
      }
    } catch (error) {
      undoAfter(error, rule, undo);
      throw error;
    }
    return { isNew: undone.length > 0, undo };
  }

  /**
   * Takes the rule away, and nothing else. A filter knows its own, a list takes away the rule's access. A cgroup that
   * is removed meanwhile takes its rules along.
   *
   * @throws MounterError ECGROUP, after all were tried
   */
  withdraw(rule: DeviceRule): void {
    inTurn(
      [...this.#filters, ...this.#lists].map((cgroup) => () => {
        try {
          cgroup.withdraw(rule);
        } catch (error) {
          if (existsSync(cgroup.path)) throw error;
        }
      }),
    );
  }

  [Symbol.dispose](): void {
    for (const filter of this.#filters) filter[Symbol.dispose]();
  }
}

/** All actions, also when one fails. @throws what the first one has thrown */
function inTurn(actions: readonly (() => void)[]): void {
  const errors: unknown[] = [];
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Undoes what was done before an error; where that fails, too, both are told. */
export function undoAfter(error: unknown, rule: DeviceRule, undo: () => void): void {
  try {
    undo();
  } catch (failure) {
    throw new Error(
      `${messageOf(error)}; and "${ruleText(rule)}" cannot be withdrawn: ${messageOf(failure)}`,
      { cause: error },
    );
  }
}
