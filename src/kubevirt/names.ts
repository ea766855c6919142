import type { Field } from './field.ts';
import { printable } from './printable.ts';

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain =
  /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const uid = /^[A-Za-z0-9](?:[-._A-Za-z0-9]{0,126}[A-Za-z0-9])?$/;
const longestPath = 4096;

/** A label of RFC 1123, at most 63 bytes: what the name of a volume, an emptyDir or a namespace is in Kubernetes. */
export function isLabel(text: string): boolean {
  return label.test(text);
}

/**
 * Whether a uid can be one component of a path. A uid of Kubernetes is a UUID, or the hash of a static
 * pod; anything of letters, digits, `-`, `.` and `_` is accepted that begins and ends with a letter or digit.
 */
export function isUid(text: string): boolean {
  return uid.test(text);
}

export function labelOf(field: Field): string | undefined {
  return matching(field, isLabel, 'a name of at most 63 lower case letters, digits and "-"');
}

/** Dot-separated labels of RFC 1123, at most 253 bytes: the name of an object or of a node. */
export function subdomainOf(field: Field): string | undefined {
  return matching(
    field,
    (text) => subdomain.test(text),
    'a name of at most 253 lower case letters, digits, "-" and "."',
  );
}

const plainUid = 'a uid: one plain name, with no "/" and no ".."';

export function uidOf(field: Field): string | undefined {
  return matching(field, isUid, plainUid);
}

/** A key that is a uid, of the field that is its value. */
export function uidKey(key: string, value: Field): string {
  if (!isUid(key)) throw value.error(`the key "${printable(key)}" is not ${plainUid}`);
  return key;
}

/** A path inside an image. Where it leads is for the one who opens it; here it is only made sure that it can be a path. */
export function pathOf(field: Field): string | undefined {
  const text = field.string();
  if (text === undefined) return undefined;
  if (text.includes('\0')) throw field.error('has a NUL character, which no path can have');
  if (Buffer.byteLength(text) >= longestPath) {
    throw field.error(`is longer than a path can be (${longestPath - 1} bytes)`);
  }
  return text;
}

export function required<Value>(field: Field, value: Value | undefined): Value {
  if (value === undefined) throw field.error('is missing');
  return value;
}

function matching(
  field: Field,
  matches: (text: string) => boolean,
  what: string,
): string | undefined {
  const text = field.string();
  if (text !== undefined && !matches(text)) {
    throw field.error(`"${printable(text)}" is not ${what}`);
  }
  return text;
}
