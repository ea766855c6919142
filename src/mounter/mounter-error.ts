import { ProcessGoneError } from '../kernel/process-handle.ts';

/** What kept a volume, or a whole virtual machine, from being served. */
export type MounterErrorCode =
  /** The launcher pod, a socket or an attachment pod is not there yet: try again later. */
  | 'ENOTREADY'
  /** A socket is there, and nobody listens on it: its process has died. */
  | 'EDEAD'
  /** Something is at a path that must not be there: a link, a directory, a device. */
  | 'EHOSTILE'
  /** The file system of an image does not answer. */
  | 'ETIMEDOUT'
  /** The disk is not in the image, or there are several, or it cannot be read. */
  | 'EDISK'
  /** The checksum is another than the one in status. */
  | 'ECHECKSUM'
  /** Not possible on this node, by this process or in this state. */
  | 'EUNSUPPORTED'
  /** A record cannot be read or written. */
  | 'ERECORD'
  /** A device cgroup refuses, or is not the pod's. */
  | 'ECGROUP';

/** A failure of the host side. `message` says what, which path and why. */
export class MounterError extends Error {
  override readonly name = 'MounterError';
  readonly code: MounterErrorCode;

  constructor(code: MounterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The sentence of any error, without a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a report says of a failure. A process can end at any moment while it is looked at; that is EDEAD. */
export function reasonOf(error: unknown): Error {
  if (error instanceof ProcessGoneError) {
    return new MounterError('EDEAD', error.message, { cause: error });
  }
  return error instanceof Error ? error : new Error(messageOf(error));
}
