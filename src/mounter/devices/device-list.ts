import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MounterError, messageOf } from '../mounter-error.ts';
import type { DeviceCgroup } from './device-cgroup.ts';
import { type DeviceRule, ruleText } from './device-rule.ts';

/** The devices controller of cgroup v1: `devices.list`, `devices.allow`, `devices.deny` (cgroup-v1/devices.rst). */
export class DeviceList implements DeviceCgroup {
  readonly path: string;
  readonly marksItsOwn = false;

  constructor(path: string) {
    this.path = path;
  }

  allow(rule: DeviceRule): boolean {
    if (this.has(rule)) return false;
    this.#write('devices.allow', rule);
    return true;
  }

  /** Only the entry for this very device goes; one for all minor numbers stays, and goes on to allow it. */
  withdraw(rule: DeviceRule): boolean {
    const isListed = this.#entries().some((entry) => entry === ruleText(rule));
    if (isListed) this.#write('devices.deny', rule);
    return isListed;
  }

  has({ type, major, minor }: DeviceRule): boolean {
    return this.#entries().some((entry) => {
      const [, kind, a, b, access = ''] = /^([abc]) (\d+|\*):(\d+|\*) ([rwm]+)$/.exec(entry) ?? [];
      const isKind = kind === 'a' || kind === type;
      const isDevice = (a === '*' || a === String(major)) && (b === '*' || b === String(minor));
      return isKind && isDevice && ['r', 'w', 'm'].every((letter) => access.includes(letter));
    });
  }

  #entries(): string[] {
    return readFileSync(join(this.path, 'devices.list'), 'utf8').split('\n').filter(Boolean);
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

  [Symbol.dispose](): void {}
}
