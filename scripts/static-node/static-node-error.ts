/**
 * Why a static program could not be made.
 *
 * `EINPUT`: the binary cannot be read. `ETOOL`: a tool or archive is missing; the message names the Debian package.
 * `EUNFIT`: the method does not fit the binary; the message says what was found. `ELINK`: the linker refused.
 * `ECHECK`: the result is not static.
 */
export class StaticNodeError extends Error {
  override readonly name = 'StaticNodeError';
  readonly code: 'EINPUT' | 'ETOOL' | 'EUNFIT' | 'ELINK' | 'ECHECK';

  constructor(code: StaticNodeError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function unfit(message: string): StaticNodeError {
  return new StaticNodeError('EUNFIT', message);
}
