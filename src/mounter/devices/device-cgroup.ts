import type { DeviceRule } from './device-rule.ts';

/** A cgroup that decides which devices its processes may use, of either version. */
export interface DeviceCgroup extends Disposable {
  readonly path: string;
  /** Whether a rule that was made here is told from one that was there before; else the record has to tell. */
  readonly marksItsOwn: boolean;
  /**
   * Allows a device; every permission that was there stays.
   *
   * @returns whether something had to be changed: what was allowed before by another rule is not ours to withdraw
   * @throws MounterError ECGROUP; then nothing is changed
   */
  allow(rule: DeviceRule): boolean;
  /** Takes the rule away again, and nothing else. @returns whether it was there */
  withdraw(rule: DeviceRule): boolean;
  /** Whether processes of the cgroup can use the device, as far as it can be known. */
  has(rule: DeviceRule): boolean;
}
