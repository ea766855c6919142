/** A device that a cgroup lets its processes read, write and make nodes of: `b 7:0 rwm` (cgroup-v1 devices). */
export interface DeviceRule {
  readonly type: 'b' | 'c';
  readonly major: number;
  readonly minor: number;
}

/** The rule as `devices.allow` takes it. */
export function ruleText({ type, major, minor }: DeviceRule): string {
  return `${type} ${major}:${minor} rwm`;
}

export function isSameRule(one: DeviceRule, other: DeviceRule): boolean {
  return one.type === other.type && one.major === other.major && one.minor === other.minor;
}
