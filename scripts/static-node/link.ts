import type { Archive } from './archive.ts';
import { placed } from './assembly.ts';
import type { Piece } from './pieces.ts';
import type { Plan } from './plan.ts';
import { spareHeaders } from './split-segment.ts';
import { startUpSymbol } from './start-up.ts';
import { StaticNodeError } from './static-node-error.ts';
import type { StartFiles } from './toolchain.ts';

/** Where the libraries go: far below the binary, whose lowest address is 4 MiB or more, and above `vm.mmap_min_addr`. */
export const librariesStart = 0x100000;

/** What the thread pointer's block is aligned to at least, so that the template's end is where the binary expects it. */
const tlsAlignment = 64;

/**
 * The default linker script for a static program, with the binary's pieces at their own addresses, its TLS block
 * last in the template, and its constructors after the libraries'.
 *
 * @throws StaticNodeError ETOOL where the default script has another form than the one that is known
 */
export function linkerScript(standard: string, plan: Plan, pieces: readonly Piece[]): string {
  const align = Math.max(tlsAlignment, plan.tls.align);
  const tls = `.tdata ALIGN(${align}) : {
    PROVIDE_HIDDEN (__tdata_start = .);
    *(.tdata .tdata.* .gnu.linkonce.td.*)
    *(.tbss .tbss.* .gnu.linkonce.tb.*) *(.tcommon)
    . = ALIGN(${align}) + ${(align - (plan.tls.size % align)) % align};
    KEEP (*(${placed.tls}))
  }
`;
  const sections = pieces.map(
    ({ name, start }) => `  ${name} 0x${start.toString(16)} : { KEEP (*(${name})) }\n`,
  );
  const tables = [placed.constants, placed.startUpWord, placed.startUpAdvice, placed.unwindTable];
  let script = standard;
  const edit = (what: string, anchor: RegExp, replacement: (found: string) => string) => {
    if (script.match(new RegExp(anchor, 'g'))?.length !== 1) {
      throw new StaticNodeError(
        'ETOOL',
        `the default linker script of this ld has no place for ${what} (looked for ${anchor.source})`,
      );
    }
    script = script.replace(anchor, (found) => replacement(found));
  };
  edit('program headers', /\+ SIZEOF_HEADERS;/, () => `+ SIZEOF_HEADERS + ${spareHeaders};`);
  edit('thread-local storage', /\.tdata\s*:\s*\{[^}]*\}\s*\.tbss\s*:\s*\{[^}]*\}/, () => tls);
  edit(
    'tables',
    /\.rodata\s*:\s*\{[^}]*\}/,
    (found) => `${found}\n${tables.map((name) => `  ${name} : { KEEP (*(${name})) }\n`).join('')}`,
  );
  edit(
    'constructors',
    /PROVIDE_HIDDEN \(__init_array_end = \.\);/,
    (found) => `KEEP (*(${placed.initArray}))\n    ${found}`,
  );
  edit(
    'destructors',
    /PROVIDE_HIDDEN \(__fini_array_end = \.\);/,
    (found) => `KEEP (*(${placed.finiArray}))\n    ${found}`,
  );
  edit('the binary', /\. = DATA_SEGMENT_END \(\.\);/, (found) => `${found}\n${sections.join('')}`);
  return `EXTERN (${plan.imports.bound.join(' ')})\n${script}`;
}

/**
 * Arguments of the compiler driver for the link, which takes nothing but what they name.
 *
 * @param objects the binary's own first, as the first of several definitions wins
 */
export function linkArguments(
  objects: readonly string[],
  output: string,
  archives: readonly Archive[],
  { first, last }: StartFiles,
): string[] {
  return [
    '-static',
    '-no-pie',
    '-nostdlib',
    '-o',
    output,
    '-Wl,-T,link.ld',
    `-Wl,-Ttext-segment=0x${librariesStart.toString(16)}`,
    // The binary's definitions of what it has copies of come first; `refuseOtherDuplicates` holds it to these.
    '-Wl,-z,muldefs',
    '-Wl,-z,noexecstack',
    '-Wl,--eh-frame-hdr',
    '-Wl,--build-id=none',
    '-Wl,--strip-all',
    `-Wl,-e,${startUpSymbol}`,
    '-Wl,-Map,link.map',
    ...first,
    ...objects,
    '-Wl,--start-group',
    ...archives.map(({ path }) => path),
    '-Wl,--end-group',
    ...last,
  ];
}
