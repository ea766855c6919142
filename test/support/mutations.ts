import fc from 'fast-check';

type Edit = (bytes: Buffer) => Buffer;

const edges = [0, 1, 7, 8, 31, 32, 53, 62, 63, 64].flatMap((bits) => [
  2n ** BigInt(bits),
  2n ** BigInt(bits) - 1n,
]);

/** A place in a file of any length. */
const place = fc.nat(2 ** 20);

/** Most of what is read is at the beginning. */
const position = fc.oneof(place, fc.nat(127));

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(position, fc.nat(255)).map(
    ([at, value]): Edit =>
      (bytes) => {
        if (bytes.length > 0) bytes.writeUInt8(value, at % bytes.length);
        return bytes;
      },
  ),
  fc.tuple(position, fc.constantFrom(...edges), fc.constantFrom(1, 2, 4, 8), fc.boolean()).map(
    ([at, value, size, isBig]): Edit =>
      (bytes) => {
        const number = Buffer.alloc(8);
        number.writeBigUInt64LE(value & (2n ** 64n - 1n));
        const field = number.subarray(0, size);
        if (isBig) field.reverse();
        if (bytes.length >= size) field.copy(bytes, at % (bytes.length - size + 1));
        return bytes;
      },
  ),
  place.map(
    (at): Edit =>
      (bytes) =>
        bytes.subarray(0, at % (bytes.length + 1)),
  ),
  fc.tuple(place, fc.nat(64), fc.nat(200)).map(
    ([from, length, times]): Edit =>
      (bytes) => {
        const at = from % (bytes.length + 1);
        const repeated = Array.from({ length: times }, () => bytes.subarray(at, at + length));
        return Buffer.concat([bytes.subarray(0, at), ...repeated, bytes.subarray(at)]);
      },
  ),
  fc.tuple(place, place).map(
    ([to, from]): Edit =>
      (bytes) => {
        const source = from % (bytes.length + 1);
        const part = Buffer.from(bytes.subarray(source, source + 32));
        part.copy(bytes, to % (bytes.length + 1));
        return bytes;
      },
  ),
);

/** Files with some bytes flipped, numbers at their bounds, cut, repeated, or parts moved. */
export function mutated(files: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(files, fc.array(edit, { minLength: 1, maxLength: 5 }))
    .map(([file, edits]) =>
      edits.reduce<Buffer>((bytes, apply) => apply(bytes), Buffer.from(file)),
    );
}
