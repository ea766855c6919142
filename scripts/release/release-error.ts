/** Why a release was not made. */
export type ReleaseErrorCode =
  /** The command line asks for what cannot be. */
  | 'EUSAGE'
  /** A licence or the version of something that goes along is not known. */
  | 'EMISSING'
  /** A program that makes a part of it failed. */
  | 'ETOOL';

/** A release that was not made: what, which path, why. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
  readonly code: ReleaseErrorCode;

  constructor(code: ReleaseErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
