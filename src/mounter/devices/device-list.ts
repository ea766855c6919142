import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MounterError, messageOf } from '../mounter-error.ts';
import { allAccess, type DeviceRule, ruleText } from './device-rule.ts';

/** A line of `devices.list`. */
interface Entry {
  readonly type: string;
  /** A number, or `*` for all. */
  readonly major: string;
  readonly minor: string;
  readonly access: string;
}

/**
 * The devices controller of cgroup v1: `devices.list`, `devices.allow`, `devices.deny` (cgroup-v1/devices.rst).
 *
 * The list does not tell who made an entry, and entries of one device are joined: whoever allows a device has to
 * remember which access was missing, and withdraw only that.
 */
export class DeviceList {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The letters of a rule's access that no entry gives. */
  missing(rule: DeviceRule): string {
    const entries = this.#entries().filter((entry) => covers(entry, rule));
    const given = entries.map(({ access }) => access).join('');
    return letters(rule)
      .filter((letter) => !given.includes(letter))
      .join('');
  }

  /**
   * Allows what is missing of a rule.
   *
   * @returns the letters that were missing
   * @throws MounterError ECGROUP
   */
  allow(rule: DeviceRule): string {
    const access = this.missing(rule);
    if (access !== '') this.#write('devices.allow', { ...rule, access });
    return access;
  }

  /**
   * Takes a rule away from the entry of this very device. One for all minor numbers stays, and goes on to allow it;
   * so does one without the rule's access, which is not the one that was made for it.
   *
   * @returns whether it was there
   */
  withdraw(rule: DeviceRule): boolean {
    if (letters(rule).length === 0) return false;
    const own = this.#entries().find(
      ({ type, major, minor }) =>
        type === rule.type && major === String(rule.major) && minor === String(rule.minor),
    );
    const isThere = letters(rule).every((letter) => own?.access.includes(letter));
    if (isThere) this.#write('devices.deny', rule);
    return isThere;
  }

  #entries(): Entry[] {
    const lines = readFileSync(join(this.path, 'devices.list'), 'utf8').split('\n');
    return lines.flatMap((line) => {
      const [, type, major, minor, access] =
        /^([abc]) (\d+|\*):(\d+|\*) ([rwm]+)$/.exec(line) ?? [];
      if (!type || !major || !minor || !access) return [];
      return { type, major, minor, access };
    });
  }

  #write(file: string, rule: DeviceRule): void {
    const path = join(this.path, file);
    try {
      writeFileSync(path, ruleText(rule));
    } catch (cause) {
      throw new MounterError(
        'ECGROUP',
        `cannot write "${ruleText(rule)}" to ${path}: ${messageOf(cause)} (does the parent cgroup allow the device?)`,
        { cause },
      );
    }
  }
}

function covers(entry: Entry, { type, major, minor }: DeviceRule): boolean {
  return (
    (entry.type === 'a' || entry.type === type) &&
    (entry.major === '*' || entry.major === String(major)) &&
    (entry.minor === '*' || entry.minor === String(minor))
  );
}

function letters({ access = allAccess }: DeviceRule): string[] {
  return [...access];
}
