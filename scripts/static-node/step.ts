/** What is told of a step when it is done. */
export interface Step {
  readonly name: string;
  readonly milliseconds: number;
  /** Size of what it made. */
  readonly bytes?: number;
  /** Whether that was there already. */
  readonly cached?: boolean;
}

export type Log = (step: Step) => void;

/** Does a step and tells of it. */
export async function timed<T>(
  log: Log | undefined,
  name: string,
  work: () => T | Promise<T>,
): Promise<T> {
  const start = performance.now();
  const result = await work();
  const milliseconds = performance.now() - start;
  const hasBytes = typeof result === 'object' && result !== null && 'bytes' in result;
  log?.({ name, milliseconds, ...(hasBytes ? { bytes: Number(result.bytes) } : {}) });
  return result;
}
