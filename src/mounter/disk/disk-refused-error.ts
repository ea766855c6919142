import { printable } from '../../kubevirt/printable.ts';

/** Why a disk is not given to a virtual machine. */
export type DiskRefusal =
  /** It is not a regular file. */
  | 'ENOTFILE'
  /** It has no bytes, or its virtual size is 0. */
  | 'EEMPTY'
  /** It is of a format that is not allowed. */
  | 'EFORMAT'
  /** qcow2 of a version that is not known. */
  | 'EVERSION'
  /** Its contents are in another file in part, or as a whole. */
  | 'EBACKINGFILE'
  | 'EDATAFILE'
  /** It is encrypted, and nobody has the key. */
  | 'EENCRYPTED'
  /** It uses a feature that is not known and that cannot be ignored. */
  | 'EFEATURE'
  /** It has been marked as corrupt. */
  | 'ECORRUPT'
  /** A field of its header has a value that cannot be. */
  | 'EMALFORMED'
  /** It ends before what its header tells of. */
  | 'ETRUNCATED'
  /** It is larger than what can be served. */
  | 'ETOOLARGE';

/** A disk that does not reach a virtual machine. `message` is `the disk <path> is refused: <why>. <what to do>`. */
export class DiskRefusedError extends Error {
  override readonly name = 'DiskRefusedError';
  readonly code: DiskRefusal;
  /** What the caller calls the disk. */
  readonly path: string;
  readonly why: string;
  /** What whoever made the disk can do. */
  readonly remedy: string | undefined;

  constructor(code: DiskRefusal, path: string, why: string, remedy?: string) {
    const advice = remedy === undefined ? '' : `. ${remedy}`;
    super(`the disk ${printable(path)} is refused: ${why}${advice}`);
    this.code = code;
    this.path = path;
    this.why = why;
    this.remedy = remedy;
  }
}
