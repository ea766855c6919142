import { copyFileSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import type { Steps } from '../build/steps.ts';
import { sha256 } from './bill-of-materials.ts';
import { packageLicences, programLicences } from './licence-texts.ts';
import { npmPackage } from './npm-package.ts';
import { packageBill } from './package-bill.ts';
import { programBill } from './program-bill.ts';
import { tool } from './tool.ts';

const root = join(import.meta.dirname, '../..');
const program = join(root, 'dist/container-disk');
const stem = `container-disk-${packageJson.version}`;

/**
 * Makes all that is released.
 *
 * @param output an empty directory, for the artifacts and nothing else
 * @param scratch an empty directory on the same file system
 */
export async function makeArtifacts(
  output: string,
  scratch: string,
  created: Date | undefined,
  steps: Steps,
): Promise<void> {
  const folder = (name: string) => {
    mkdirSync(join(scratch, name));
    return join(scratch, name);
  };
  const write = (name: string, text: string) => writeFileSync(join(output, name), text);

  await steps.run('program', () => {
    tool(process.execPath, [join(root, 'scripts/build.ts')]);
    copyFileSync(program, join(output, `${stem}-linux-x64`));
  });
  await steps.run('image', () => {
    const image = join(folder('image'), 'image');
    tool(process.execPath, [join(root, 'scripts/image.ts'), '--output', image]);
    renameSync(`${image}.tar`, join(output, `${stem}-image.tar`));
  });
  const tarball = join(output, `${stem}.tgz`);
  await steps.run('npm package', () => renameSync(npmPackage(folder('package')), tarball));
  await steps.run('bills of materials', async () => {
    const binary = join(output, `${stem}-linux-x64`);
    write(`${stem}-linux-x64.cdx.json`, await programBill(binary, created));
    write(`${stem}-npm.cdx.json`, await packageBill(folder('bill'), tarball, created));
  });
  await steps.run('licences', () => {
    write(`${stem}-linux-x64.licences.txt`, programLicences());
    write(`${stem}-npm.licences.txt`, packageLicences());
  });
  await steps.run('checksums', async () => write('SHA256SUMS', await checksums(output)));
}

/** As sha256sum(1) writes and checks them. */
async function checksums(directory: string): Promise<string> {
  let text = '';
  for (const name of readdirSync(directory).sort()) {
    text += `${await sha256(join(directory, name))}  ${name}\n`;
  }
  return text;
}
