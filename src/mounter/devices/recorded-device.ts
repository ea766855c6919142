import type { DeviceNumber } from '../../kernel/statx.ts';
import { allAccess, type DeviceRule } from './device-rule.ts';

/** Of a device whose access was there already in every list of cgroup v1. */
const none = '-';

/**
 * A device whose use was allowed, for the record: `7:0`, or `7:0 wm` where a list of cgroup v1 had a part of the access
 * before, which stays when the rule is withdrawn.
 *
 * @param missing letters of the access that no list gave; undefined where there is no list
 */
export function recordedDevice(
  { major, minor }: DeviceNumber,
  missing: string | undefined = allAccess,
): string {
  return `${major}:${minor}${missing === allAccess ? '' : ` ${missing || none}`}`;
}

/** @returns undefined where nothing, or something else, is recorded */
export function parseRecordedDevice(text: string | undefined): DeviceRule | undefined {
  const [, major, minor, access = allAccess] =
    /^(\d+):(\d+)(?: ([rwm]+|-))?$/.exec(text ?? '') ?? [];
  if (major === undefined || minor === undefined) return undefined;
  const letters = access === none ? '' : access;
  return { type: 'b', major: Number(major), minor: Number(minor), access: letters };
}

/**
 * What has to be withdrawn of a device that was allowed twice, for two volumes or anew: what was missing either time.
 *
 * @returns undefined where they are of different devices
 */
export function sharedDevice(
  one: string | undefined,
  other: string | undefined,
): string | undefined {
  const [a, b] = [parseRecordedDevice(one), parseRecordedDevice(other)];
  if (a === undefined || b === undefined) return undefined;
  if (a.major !== b.major || a.minor !== b.minor) return undefined;
  const both = `${a.access ?? allAccess}${b.access ?? allAccess}`;
  return recordedDevice(a, [...allAccess].filter((letter) => both.includes(letter)).join(''));
}
