import { ImageError } from './image-error.ts';

/**
 * The time that what is made carries, in place of the one at which it is made:
 * https://reproducible-builds.org/specs/source-date-epoch/
 *
 * @throws {ImageError} EUSAGE where `SOURCE_DATE_EPOCH` is not a number of seconds
 */
export function sourceDate(): Date | undefined {
  const text = process.env['SOURCE_DATE_EPOCH'];
  if (text === undefined) return undefined;
  // The header of a tar archive has eleven octal digits for it.
  if (!/^\d{1,10}$/.test(text) || Number(text) > 0o77777777777) {
    throw new ImageError('EUSAGE', `SOURCE_DATE_EPOCH is "${text}", and not a number of seconds`);
  }
  return new Date(Number(text) * 1000);
}
