import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { type BillOfMaterials, billText, sha256 } from './bill-of-materials.ts';
import { tool } from './tool.ts';

const root = join(import.meta.dirname, '../..');

interface PackageLock {
  readonly packages: Readonly<Record<string, object>>;
}

/**
 * What npm installs with the package, on any platform: `npm sbom` of what package-lock.json says.
 *
 * @param scratch an empty directory
 */
export async function packageBill(
  scratch: string,
  tarball: string,
  created: Date | undefined,
): Promise<string> {
  // npm names the component after its folder.
  const folder = join(scratch, packageJson.name);
  mkdirSync(folder);
  const write = (name: string, value: object) =>
    writeFileSync(join(folder, name), JSON.stringify(value));
  const { devDependencies: _dev, ...published } = packageJson;
  write('package.json', published);
  write('package-lock.json', withoutDevelopment());
  const argv = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const bill: BillOfMaterials = JSON.parse(tool('npm', argv, folder));
  const component = {
    ...bill.metadata.component,
    hashes: [{ alg: 'SHA-256', content: await sha256(tarball) }],
  };
  return billText({ ...bill, metadata: { ...bill.metadata, component } }, created);
}

/** `npm sbom --omit dev` would leave out what a development package depends on, too. */
function withoutDevelopment(): PackageLock {
  const lock: PackageLock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { devDependencies: _dev, ...published } = packageJson;
  const kept = Object.entries(lock.packages).filter(
    ([path, entry]) => path !== '' && !('dev' in entry),
  );
  return { ...lock, packages: { '': published, ...Object.fromEntries(kept) } };
}
