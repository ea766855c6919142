const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A number of bytes as people read it: `10 GiB`, `1.5 MiB`. */
export function byteSize(bytes: number | undefined): string {
  if (bytes === undefined) return '';
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const value = bytes / 1024 ** power;
  const digits = Number.isInteger(value) || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[power]}`;
}
