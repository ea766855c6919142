/**
 * The head of a snapshot of V8's heap (`SnapshotImpl` in V8's src/snapshot/snapshot.cc), 32 bits each: the number of
 * contexts, whether its hash tables can be made anew, two checksums; then the version of V8.
 */
const versionOffset = 16;
const rehashableOffset = 4;

/**
 * Lets the program keep the hash seed that the snapshot of the heap was made with.
 *
 * A seed of its own for every start has all hash tables of the heap made anew, and prime numbers searched for, which
 * takes a quarter of the CPU of a start. It protects tables whose keys an attacker chooses; this program has none.
 * V8's flag for it, `--no-rehash-snapshot`, would have it reject the code cache of Node.js, whose key the flags are.
 *
 * @param program is changed in place
 * @param v8 `process.versions.v8` of its Node.js
 * @throws Error where no snapshot is found
 */
export function keepHashSeed(program: Buffer, v8: string): void {
  const version = Buffer.from(`${v8}\0`);
  let found = 0;
  for (let at = program.indexOf(version); at >= 0; at = program.indexOf(version, at + 1)) {
    const head = at - versionOffset;
    const isSnapshot =
      program.readUInt32LE(head) < 64 && program.readUInt32LE(head + rehashableOffset) === 1;
    if (!isSnapshot) continue;
    program.writeUInt32LE(0, head + rehashableOffset);
    found += 1;
  }
  if (found === 0)
    throw new Error(`the program has no snapshot of V8 ${v8} whose seed could be kept`);
}
