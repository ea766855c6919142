import { printable } from './printable.ts';

/**
 * Why a manifest was not read:
 * `EREAD` its file cannot be read, `ETOOBIG` it is larger than the limit, `ESYNTAX` it is neither JSON nor YAML,
 * `EKIND` it holds something else, `EFIELD` a field has a value that cannot be used.
 */
export type ManifestErrorCode = 'EREAD' | 'ETOOBIG' | 'ESYNTAX' | 'EKIND' | 'EFIELD';

/** A VirtualMachineInstance that cannot be read. `message` is `<source>: <field>: <why>`. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
  readonly code: ManifestErrorCode;
  /** Path of the field in its object, such as `spec.volumes[2].name`; undefined where it is not about one. */
  readonly field: string | undefined;

  constructor(
    code: ManifestErrorCode,
    source: string,
    why: string,
    options: ErrorOptions & { field?: string } = {},
  ) {
    const { field, ...errorOptions } = options;
    super([printable(source), ...(field ? [field] : []), why].join(': '), errorOptions);
    this.code = code;
    this.field = field;
  }
}
