const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const longestShown = 200;

/** Text that somebody else wrote, as one line of a log may hold it: control characters escaped, the middle left out where it is long. */
export function printable(text: string): string {
  const shown =
    text.length <= longestShown
      ? text
      : `${text.slice(0, longestShown / 2)}…${text.slice(-longestShown / 2)}`;
  return shown.replace(
    unprintable,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
