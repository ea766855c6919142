import { SyscallError } from '../kernel/syscall-error.ts';
import { type DiskRefusal, DiskRefusedError } from './disk/disk-refused-error.ts';
import { MounterError, type MounterErrorCode } from './mounter-error.ts';

/** An error as it goes from one thread to another, which keep no classes of their own (structured clone). */
export type ErrorParts =
  | { readonly kind: 'mounter'; readonly code: MounterErrorCode; readonly message: string }
  | {
      readonly kind: 'refused';
      readonly code: DiskRefusal;
      readonly path: string;
      readonly why: string;
      readonly remedy: string | undefined;
    }
  | {
      readonly kind: 'syscall';
      readonly errno: number;
      readonly syscall: string;
      readonly path: string | undefined;
    }
  | { readonly kind: 'other'; readonly error: Error };

export function partsOf(error: unknown): ErrorParts {
  if (error instanceof MounterError) {
    return { kind: 'mounter', code: error.code, message: error.message };
  }
  if (error instanceof DiskRefusedError) {
    const { code, path, why, remedy } = error;
    return { kind: 'refused', code, path, why, remedy };
  }
  if (error instanceof SyscallError) {
    const { errno, syscall, path } = error;
    return { kind: 'syscall', errno, syscall, path };
  }
  return { kind: 'other', error: error instanceof Error ? error : new Error(String(error)) };
}

export function errorOf(parts: ErrorParts): Error {
  switch (parts.kind) {
    case 'mounter':
      return new MounterError(parts.code, parts.message);
    case 'refused':
      return new DiskRefusedError(parts.code, parts.path, parts.why, parts.remedy);
    case 'syscall':
      return new SyscallError(-parts.errno, parts.syscall, parts.path);
    case 'other':
      return parts.error;
  }
}
