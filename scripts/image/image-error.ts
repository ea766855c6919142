/** Why an image was not made. */
export type ImageErrorCode =
  /** The command line asks for what cannot be. */
  | 'EUSAGE'
  /** The name is not one that an image can have. */
  | 'EREFERENCE'
  /** The disk was written to while it was read. */
  | 'ECHANGED'
  /** What is at the output path was not made here, and is left as it is; or there is no room for the image. */
  | 'EOUTPUT'
  /** Something that goes into the image is not there. */
  | 'EMISSING';

/** An image that was not made: what, which path, why, and what to do. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly code: ImageErrorCode;

  constructor(code: ImageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
