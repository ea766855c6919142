import { readFileSync } from 'node:fs';
import { Elf } from './elf.ts';
import { PF_W, PF_X, PT_DYNAMIC, PT_GNU_STACK, PT_INTERP } from './elf-constants.ts';
import { StaticNodeError } from './static-node-error.ts';

/**
 * Refuses a program that is not fully static: one with an interpreter or a dynamic section, or memory that is
 * writable and executable, such as the stack where PT_GNU_STACK does not say otherwise.
 *
 * @throws StaticNodeError ECHECK, EUNFIT where it is no ELF file
 */
export function checkStatic(path: string): void {
  const { segments } = new Elf(readFileSync(path), path);
  const refuse = (why: string) =>
    new StaticNodeError('ECHECK', `${path} is not as a static program should be: it has ${why}`);
  if (segments.some(({ type }) => type === PT_INTERP)) throw refuse('an interpreter (PT_INTERP)');
  if (segments.some(({ type }) => type === PT_DYNAMIC))
    throw refuse('a dynamic section (PT_DYNAMIC)');
  const stack = segments.find(({ type }) => type === PT_GNU_STACK);
  if (stack === undefined || stack.flags & PF_X) throw refuse('an executable stack (PT_GNU_STACK)');
  if (segments.some(({ flags }) => flags & PF_W && flags & PF_X))
    throw refuse('a segment that is writable and executable');
}
