import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { assembly, pieces as planPieces } from './assembly.ts';
import { checkStatic } from './check.ts';
import { refuseOtherDuplicates } from './duplicates.ts';
import { Elf } from './elf.ts';
import { finish } from './finish.ts';
import { findGaps } from './gaps.ts';
import { librariesStart, linkerScript } from './linker-script.ts';
import { plan as makePlan } from './plan.ts';
import { unfit } from './static-node-error.ts';
import { compile, linkedLibraries, type Toolchain } from './toolchain.ts';
import { unwindTableSize } from './unwind-table.ts';

/** How many functions the libraries may bring, for which the unwinder's table has room. */
const libraryFunctions = 16_384;

export interface RelinkOptions {
  /** Keep the locale data. */
  readonly intl: boolean;
}

/**
 * Links a dynamic, not position-independent x86-64 program anew, with static archives in place of its libraries.
 *
 * The program's own code and data stay at their addresses. `output` is written at once, when all checks are passed.
 *
 * @throws StaticNodeError EUNFIT where the method does not fit the program, ELINK, ECHECK
 */
export function relink(
  input: string,
  output: string,
  { archives, linkerScript: standard }: Toolchain,
  { intl }: RelinkOptions,
): void {
  const file = realpathSync(input);
  const binary = new Elf(readFileSync(file), input);
  const gaps = findGaps(binary, intl);
  const plan = makePlan(binary, archives, gaps);
  const pieces = planPieces(plan, gaps);
  const lowest = Math.min(...pieces.map(({ start }) => start));
  if (lowest <= librariesStart) {
    throw unfit(`the binary starts at 0x${lowest.toString(16)}, where the libraries would go`);
  }
  const entries = (binary.section('.eh_frame_hdr')?.size ?? 0) / 8 + libraryFunctions;
  const scratch = mkdtempSync(join(dirname(output), '.relink-'));
  try {
    const table = unwindTableSize(Math.ceil(entries));
    writeFileSync(join(scratch, 'binary.S'), assembly(plan, file, pieces, table));
    writeFileSync(join(scratch, 'link.ld'), linkerScript(standard, plan, pieces));
    compile(['-c', 'binary.S', '-o', 'binary.o'], scratch);
    compile(
      [...linkArguments, 'binary.o', '-Wl,--start-group', ...linkedLibraries, '-Wl,--end-group'],
      scratch,
    );
    refuseOtherDuplicates(readFileSync(join(scratch, 'link.map'), 'latin1'), plan, archives);
    const result = readFileSync(join(scratch, 'linked'));
    finish(result, plan, pieces);
    const finished = join(scratch, 'finished');
    writeFileSync(finished, result, { mode: 0o755 });
    checkStatic(finished);
    renameSync(finished, output);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const linkArguments = [
  '-static',
  '-no-pie',
  '-o',
  'linked',
  '-Wl,-T,link.ld',
  `-Wl,-Ttext-segment=0x${librariesStart.toString(16)}`,
  // The binary's definitions of what it has copies of come first; `refuseOtherDuplicates` holds it to these.
  '-Wl,-z,muldefs',
  '-Wl,-z,noexecstack',
  '-Wl,--eh-frame-hdr',
  '-Wl,--build-id=none',
  '-Wl,--strip-all',
  '-Wl,-Map,link.map',
];
