import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** A component of CycloneDX 1.5, as far as it is written here. */
export interface Component {
  readonly type: 'application' | 'library';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly licenses?: readonly object[];
  readonly hashes?: readonly object[];
  readonly cpe?: string;
  readonly purl?: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  readonly components?: readonly Component[];
}

/** A bill of materials in CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/). */
export interface BillOfMaterials {
  readonly metadata: { readonly timestamp?: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * The text of a bill of materials. Its serial number is made of its contents, and there is a time in it only where
 * one is given, so that the same contents give the same text.
 */
export function billText(bill: BillOfMaterials, created: Date | undefined): string {
  const { timestamp: _now, ...metadata } = bill.metadata;
  const { components, dependencies } = bill;
  const timestamp = created && { timestamp: created.toISOString() };
  const body = { metadata: { ...timestamp, ...metadata }, components, dependencies };
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(hash)}`,
    version: 1,
  };
  return `${JSON.stringify({ ...head, ...body }, undefined, 2)}\n`;
}

/** A UUID of version 8, whose bits are the maker's (RFC 9562, 5.8). */
function uuidOf(hex: string): string {
  const variant = '89ab'[Number.parseInt(hex.slice(16, 17), 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** SHA-256 of a file, in hexadecimal digits. */
export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
