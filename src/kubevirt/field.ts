import { ManifestError } from './manifest-error.ts';
import { printable } from './printable.ts';

const plainKey = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/**
 * A value in a manifest together with its path. A wrong type is an error that names the path;
 * null is the same as absent, as it is for Kubernetes.
 */
export class Field {
  readonly #source: string;
  readonly #value: unknown;
  readonly path: string;

  constructor(source: string, value: unknown, path = '') {
    this.#source = source;
    this.#value = value;
    this.path = path;
  }

  get present(): boolean {
    return this.#value !== undefined && this.#value !== null;
  }

  /** The member of this object; absent where the object is. Inherited names (`__proto__`) are not members. */
  get(name: string): Field {
    const object = this.#object();
    const value = object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
    return this.#child(value, this.path === '' ? name : `${this.path}.${name}`);
  }

  /** The entries of an object whose keys are data. */
  entries(): [key: string, value: Field][] {
    return Object.entries(this.#object() ?? {}).map(([key, value]) => {
      const step = plainKey.test(key) ? `.${key}` : `["${printable(key)}"]`;
      return [key, this.#child(value, `${this.path}${step}`)];
    });
  }

  list(): Field[] {
    if (!this.present) return [];
    if (!Array.isArray(this.#value)) throw this.#wrongType('a list');
    return this.#value.map((value, index) => this.#child(value, `${this.path}[${index}]`));
  }

  /** Undefined where it is absent or empty: Kubernetes leaves out empty strings. */
  string(): string | undefined {
    if (!this.present || this.#value === '') return undefined;
    if (typeof this.#value !== 'string') throw this.#wrongType('a string');
    return this.#value;
  }

  /** False where it is absent. */
  boolean(): boolean {
    if (!this.present) return false;
    if (typeof this.#value !== 'boolean') throw this.#wrongType('a boolean');
    return this.#value;
  }

  /** An integer of 32 bits without a sign. */
  uint32(): number | undefined {
    if (!this.present) return undefined;
    if (typeof this.#value !== 'number') throw this.#wrongType('a number');
    if (!Number.isInteger(this.#value) || this.#value < 0 || this.#value > 0xffff_ffff) {
      throw this.error(`expected an integer from 0 to 4294967295, got ${this.#value}`);
    }
    return this.#value;
  }

  error(why: string): ManifestError {
    return new ManifestError('EFIELD', this.#source, why, { field: this.path });
  }

  #child(value: unknown, path: string): Field {
    return new Field(this.#source, value, path);
  }

  #object(): Record<string, unknown> | undefined {
    if (!this.present) return undefined;
    if (!isObject(this.#value)) throw this.#wrongType('an object');
    return this.#value;
  }

  #wrongType(expected: string): ManifestError {
    const why = `expected ${expected}, got ${typeName(this.#value)}`;
    return this.path === '' ? new ManifestError('EKIND', this.#source, why) : this.error(why);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'an object';
  if (typeof value === 'object') return 'a value of a YAML type that Kubernetes does not have';
  return `a ${typeof value}`;
}
