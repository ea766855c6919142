import { Elf } from '../static-node/elf.ts';

/** Functions of Node.js that return nothing, which every start runs and which are of no use to this program. */
const skipped = [
  // Goes through the whole heap for source positions that only a CPU profiler reads.
  '_ZN2v811CpuProfiler38UseDetailedSourcePositionsForProfilingEPNS_7IsolateE',
  // Serializes the code of built-in modules, for worker threads to start faster.
  '_ZN4node8builtins13BuiltinLoader13SaveCodeCacheERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEN2v85LocalINSA_4DataEEE',
  // Makes an io_uring(7) of each event loop, which many seccomp profiles refuse and which has to be torn down at the end.
  'uv__iou_init',
];

/** `ret` */
const ret = 0xc3;

/**
 * Has functions return as soon as they are called.
 *
 * @param program is changed in place; the binary's code is at its addresses there
 * @param node the binary that it was made of, with its symbols
 */
export function skipFunctions(program: Buffer, node: Elf): void {
  const table = node.section('.symtab');
  if (table === undefined) throw new Error('the Node.js binary has no symbols');
  const symbols = new Map(node.symbols(table).map((symbol) => [symbol.name, symbol]));
  const elf = new Elf(program, 'the program');
  for (const name of skipped) {
    const symbol = symbols.get(name);
    const offset = symbol && elf.fileOffset(symbol.value, symbol.size);
    const original = symbol && node.fileOffset(symbol.value, symbol.size);
    if (offset === undefined || original === undefined) {
      throw new Error(`this Node.js has no ${name}: see ${import.meta.filename}`);
    }
    // The first instruction of a function that is called and not jumped into is all that is touched.
    if (program[offset] !== node.bytes[original]) throw new Error(`${name} is not where it was`);
    program[offset] = ret;
  }
}
