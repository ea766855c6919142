import { appendFileSync } from 'node:fs';
import { env, resourceUsage, threadCpuUsage } from 'node:process';
import fc from 'fast-check';
import type { Test } from 'tap';

/** What a case may take at most: milliseconds of the processor, and mebibytes. */
const longestCase = 1000;
const largestCase = 64;

/** Cases before memory counts: until then the compiler's own and the first collections are in it. */
const warmUp = 200;

/** For fc.record: objects as literals are. */
export const plain = { noNullPrototype: true } as const;

/** The figures of a property, one line of JSON in the file that FUZZ_REPORT names. */
export interface FuzzFigures {
  readonly subject: string;
  readonly cases: number;
  readonly seconds: number;
  /** Milliseconds of the processor that the longest case took. */
  readonly longest: number;
  /** MiB that the peak of the process's memory has grown. */
  readonly growth: number;
  readonly fault: string | undefined;
}

/**
 * Runs a check over so many inputs: FUZZ_RUNS of them (2,000), from FUZZ_SEED (1). A fault is what the check throws, a
 * case that takes over a second of the processor, and one that takes over 64 MiB.
 */
export function fuzz<Input>(
  t: Test,
  subject: string,
  inputs: fc.Arbitrary<Input>,
  check: (input: Input) => void,
  most = Number.POSITIVE_INFINITY,
): void {
  t.test(subject, { timeout: 7_200_000 }, async () => {
    const runs = Math.min(Number(env['FUZZ_RUNS'] ?? 2000), most);
    const seed = Number(env['FUZZ_SEED'] ?? 1);
    const start = performance.now();
    let [cases, longest, firstPeak] = [0, 0, 0];
    const measured = (input: Input): void => {
      const peak = resourceUsage().maxRSS;
      if (cases <= warmUp) firstPeak = peak;
      const before = threadCpuUsage();
      check(input);
      const used = threadCpuUsage(before);
      const took = (used.user + used.system) / 1000;
      const grown = (resourceUsage().maxRSS - peak) / 1024;
      cases += 1;
      longest = Math.max(longest, took);
      if (took > longestCase) throw new Error(`it takes ${took} ms`);
      if (cases > warmUp && grown > largestCase) throw new Error(`it takes ${grown} MiB`);
    };
    const result = fc.check(fc.property(inputs, measured), { numRuns: runs, seed });
    const fault = result.failed ? fc.defaultReportMessage(result) : undefined;
    report({
      subject,
      cases,
      seconds: (performance.now() - start) / 1000,
      longest,
      growth: (resourceUsage().maxRSS - firstPeak) / 1024,
      fault,
    });
    if (fault !== undefined) throw new Error(fault);
  });
}

function report(figures: FuzzFigures): void {
  const path = env['FUZZ_REPORT'];
  if (path !== undefined) appendFileSync(path, `${JSON.stringify(figures)}\n`);
}

/** What it gives, or undefined where it refuses by an error of this class; any other error is a fault. */
export function answer<Value>(
  run: () => Value,
  refusal: new (...args: never[]) => Error,
): Value | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof refusal) return undefined;
    throw error;
  }
}
