import { placed } from '../static-node/assembly.ts';
import { Elf } from '../static-node/elf.ts';
import { wordSize } from '../static-node/start-up.ts';

/**
 * Fills in the word that, as the only argument, lets the program end at once with exit code 0, before Node.js starts.
 *
 * @param program is changed in place
 */
export function endAtWord(program: Buffer, word: string): void {
  const section = new Elf(program, 'the program').section(placed.startUpWord);
  if (section === undefined) throw new Error(`the program has no ${placed.startUpWord}`);
  if (Buffer.byteLength(word) >= wordSize) throw new Error(`${word} is too long a word`);
  program.write(`${word}\0`, section.offset);
}
