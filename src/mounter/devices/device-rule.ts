/** A device that a cgroup lets its processes use: `b 7:0 rwm` (cgroup-v1/devices.rst). */
export interface DeviceRule {
  readonly type: 'b' | 'c';
  readonly major: number;
  readonly minor: number;
  /** Letters of {@link allAccess}; all of them where it is left out. */
  readonly access?: string;
}

/** Read, write, and make nodes of. */
export const allAccess = 'rwm';

/** The rule as `devices.allow` takes it. */
export function ruleText({ type, major, minor, access = allAccess }: DeviceRule): string {
  return `${type} ${major}:${minor} ${access}`;
}

/** Whether two rules are of the same device. */
export function isSameDevice(one: DeviceRule, other: DeviceRule): boolean {
  return one.type === other.type && one.major === other.major && one.minor === other.minor;
}
