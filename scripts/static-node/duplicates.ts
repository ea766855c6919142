import { basename } from 'node:path';
import type { Archive, Member } from './archive.ts';
import type { ElfSymbol } from './elf.ts';
import { STB_GLOBAL, STT_FUNC, STT_GNU_IFUNC } from './elf-constants.ts';
import { tlsGetAddr } from './patch.ts';
import type { Plan } from './plan.ts';
import { unfit } from './static-node-error.ts';

/**
 * Proves that letting the first of several definitions win (`-z muldefs`) was right: what is defined twice is what
 * the binary has copies of, and nothing else.
 *
 * @param map the link map (`ld -Map`)
 * @throws StaticNodeError EUNFIT with the names
 */
export function refuseOtherDuplicates(map: string, plan: Plan, archives: readonly Archive[]): void {
  const { definitions, constants, members } = plan.copies;
  const copied = new Set([...definitions.values(), ...constants].flatMap(({ names }) => names));
  const seen = new Set(['main', tlsGetAddr]);
  const twice = new Set<string>();
  const shared = new Set<string>();
  const replaced = new Set<string>();
  for (const { archive, symbols } of [...members, ...linkedMembers(map, archives)]) {
    for (const symbol of symbols) {
      const { name, bind } = symbol;
      if (bind === STB_GLOBAL && seen.has(name)) twice.add(name);
      if (bind === STB_GLOBAL) seen.add(name);
      const exported = plan.exported.get(name);
      if (exported === undefined || copied.has(name)) continue;
      if (!isFunction(symbol) || !isFunction(exported)) shared.add(name);
      else if (exported.bind === STB_GLOBAL && isReplaceable(symbol, archive)) replaced.add(name);
    }
  }
  refuse(twice, 'defined twice by what is linked');
  refuse(shared, 'defined by the binary and by the libraries');
  refuse(replaced, "functions of the libraries that the binary's own would replace for them too");
}

/**
 * The archives' object files that the link took, from the map. Of several of one name in an archive, which the
 * map does not tell apart, all.
 */
function* linkedMembers(map: string, archives: readonly Archive[]): Generator<Member> {
  const entries = new Set(Array.from(map.matchAll(/^(\S+\.a)\(([^)]+)\)/gm), ([entry]) => entry));
  if (entries.size === 0) throw unfit('the link map names no member of an archive');
  for (const entry of entries) {
    const at = entry.lastIndexOf('(');
    const archive = archives.find(({ path }) => path === entry.slice(0, at));
    const members = archive?.members(entry.slice(at + 1, -1)) ?? [];
    if (members.length === 0) throw unfit(`the link took ${entry}, which is not known here`);
    yield* members;
  }
}

function isFunction({ type }: ElfSymbol): boolean {
  return type === STT_FUNC || type === STT_GNU_IFUNC;
}

/** `operator new` and `operator delete`, the functions that a C++ program may replace ([replacement.functions]). */
const replaceable = /^_Z(nw|na|dl|da)/;

/**
 * A function that is there twice does no harm where both are one and the same: inline functions, and those of a
 * newer libstdc++ that the binary brings along. It does where a program means to replace it for all, as it may
 * with `operator new` or `malloc`.
 */
function isReplaceable({ name }: ElfSymbol, archive: string): boolean {
  return basename(archive) !== 'libstdc++.a' || replaceable.test(name);
}

function refuse(names: ReadonlySet<string>, what: string): void {
  if (names.size > 0) throw unfit(`${what}: ${[...names].sort().join(', ')}`);
}
