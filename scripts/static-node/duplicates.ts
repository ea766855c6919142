import type { Archive } from './archive.ts';
import { STT_FUNC, STT_GNU_IFUNC } from './elf-constants.ts';
import type { Plan } from './plan.ts';
import { unfit } from './static-node-error.ts';

function isFunction(type: number): boolean {
  return type === STT_FUNC || type === STT_GNU_IFUNC;
}

/** An archive's object file as the link map names it. */
const mapMember = /^(?:LOAD )?(\S+\.a)\(([^)]+)\)/gm;

/**
 * Proves that letting the binary's definitions win over the archives' was right: what is defined by both is what
 * the binary has copies of, and nothing else.
 *
 * Two definitions of another object would be two where a dynamic program has one. Functions (inline ones of the
 * standard library) may be there twice: each side calls its own.
 *
 * @param map the link map (`ld -Map`)
 * @throws StaticNodeError EUNFIT with the names
 */
export function refuseOtherDuplicates(map: string, plan: Plan, archives: readonly Archive[]): void {
  const copied = new Set(Array.from(plan.copies.definitions.values(), ({ names }) => names).flat());
  for (const { name } of plan.copies.constants) copied.add(name);
  const constants = new Set(plan.copies.constants.map(({ address }) => address));
  const linked = new Set(
    Array.from(map.matchAll(mapMember), ([, file, name]) => `${file}(${name})`),
  );
  const others = new Set<string>();
  for (const archive of archives) {
    for (const entry of linked) {
      if (!entry.startsWith(`${archive.path}(`)) continue;
      for (const member of archive.members(entry.slice(archive.path.length + 1, -1))) {
        for (const { name, type } of member.symbols) {
          if (isFunction(type)) continue;
          if (plan.exported.has(name) && !copied.has(name)) others.add(name);
        }
      }
    }
  }
  for (const name of aliasesOf(constants, plan)) others.delete(name);
  if (others.size > 0) {
    throw unfit(`defined by the binary and by the libraries: ${[...others].sort().join(', ')}`);
  }
}

function aliasesOf(addresses: ReadonlySet<number>, { binary }: Plan): string[] {
  const dynsym = binary.section('.dynsym');
  const symbols = dynsym ? binary.symbols(dynsym) : [];
  return symbols.filter(({ value }) => addresses.has(value)).map(({ name }) => name);
}
