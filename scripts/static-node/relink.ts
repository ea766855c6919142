import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { assembly } from './assembly.ts';
import { checkStatic } from './check.ts';
import { compile } from './compile.ts';
import { refuseOtherDuplicates } from './duplicates.ts';
import { Elf } from './elf.ts';
import { finish } from './finish.ts';
import { findGaps } from './gaps.ts';
import { librariesStart, linkArguments, linkerScript } from './link.ts';
import { cutIntoPieces, type Piece } from './pieces.ts';
import { placeFile } from './place-file.ts';
import { makePlan } from './plan.ts';
import { readBinary } from './read-binary.ts';
import { unfit } from './static-node-error.ts';
import { type Log, timed } from './step.ts';
import { findToolchain, type Toolchain } from './toolchain.ts';
import { unwindTableSize } from './unwind-table.ts';

/** How many functions the libraries may bring, for which the unwinder's table has room. */
const libraryFunctions = 16_384;

export interface RelinkOptions {
  /** Keep the locale data; false unless set. */
  readonly intl?: boolean;
  /** The one on the PATH unless set. */
  readonly toolchain?: Toolchain;
  readonly log?: Log;
}

/**
 * Links a dynamic, not position-independent x86-64 program anew, with static archives in place of its libraries.
 *
 * The program's own code and data stay at their addresses. `output` appears at once, when all checks are passed.
 *
 * @throws StaticNodeError EINPUT where `input` cannot be read, ETOOL, EUNFIT where the method does not fit the
 * program, ELINK, ECHECK
 */
export async function relink(
  input: string,
  output: string,
  { intl = false, toolchain, log }: RelinkOptions = {},
): Promise<void> {
  const { archives, startFiles, linkerScript: standard } = toolchain ?? (await findToolchain());
  const binary = new Elf(readBinary(input), input);
  const { plan, pieces } = await timed(log, 'plan', () => {
    const gaps = findGaps(binary, intl);
    const plan = makePlan(binary, archives, gaps);
    return { plan, pieces: cutIntoPieces(plan, gaps) };
  });
  refuseLowAddresses(pieces);
  const entries = (binary.section('.eh_frame_hdr')?.size ?? 0) / 8 + libraryFunctions;
  const table = unwindTableSize(Math.ceil(entries));
  const scratch = mkdtempSync(join(dirname(output), '.relink-'));
  try {
    symlinkSync(realpathSync(input), join(scratch, 'binary'));
    writeFileSync(join(scratch, 'binary.s'), assembly(plan, 'binary', pieces, table));
    writeFileSync(join(scratch, 'link.ld'), linkerScript(standard, plan, pieces));
    await timed(log, 'assemble', () => compile(['-c', 'binary.s', '-o', 'binary.o'], scratch));
    const objects = ['binary.o'];
    for (const member of plan.copies.members) {
      const name = `member-${objects.length}.o`;
      writeFileSync(join(scratch, name), member.elf.bytes);
      objects.push(name);
    }
    await timed(log, 'link', () =>
      compile(linkArguments(objects, 'linked', archives, startFiles), scratch),
    );
    await timed(log, 'finish', () => {
      refuseOtherDuplicates(readFileSync(join(scratch, 'link.map'), 'latin1'), plan, archives);
      const linked = readFileSync(join(scratch, 'linked'));
      finish(linked, plan, pieces);
      const finished = join(scratch, 'finished');
      writeFileSync(finished, linked, { mode: 0o755 });
      checkStatic(finished);
      placeFile(finished, output);
      return { bytes: linked.length };
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function refuseLowAddresses(pieces: readonly Piece[]): void {
  const lowest = Math.min(...pieces.map(({ start }) => start));
  if (lowest > librariesStart) return;
  throw unfit(`the binary starts at 0x${lowest.toString(16)}, where the libraries would go`);
}
