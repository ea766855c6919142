import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { MountReport } from '../../src/mounter/prepared.ts';
import { manifest, TestNode, vmi } from '../support/launcher.ts';

const program = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

const disks = [0, 1, 2, 3];

/** What a command that lacked something came to. */
export interface Ended {
  /** undefined where a signal has ended it. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  readonly stderr: string;
  /** The reports of the volumes, where it could write them. */
  readonly volumes: readonly MountReport[];
}

/** A node with a virtual machine of four disks, whose mounter is short of something. */
export class LimitedNode {
  readonly node: TestNode;
  readonly emptyDir: string;
  readonly #t: Test;
  readonly #fields: Parameters<typeof vmi>[0];
  readonly #file: string;

  private constructor(t: Test, node: TestNode) {
    this.#t = t;
    this.node = node;
    const pod = node.pod();
    this.emptyDir = pod.emptyDir('container-disks');
    const volumes = disks.map((index) => ({ name: `disk-${index}`, containerDisk: {} }));
    this.#fields = { uid: node.uid(), pods: [pod.uid], volumes };
    this.#file = join(node.directories.root, 'vmi.json');
    writeFileSync(this.#file, JSON.stringify(manifest(this.#fields)));
  }

  static async start(t: Test): Promise<LimitedNode> {
    const limited = new LimitedNode(t, new TestNode(t));
    const { node, emptyDir } = limited;
    const image = node.image('disk', { 'disk/disk.img': 'disk'.repeat(1000) });
    await node.sidecar(
      image,
      emptyDir,
      disks.map((index) => `disk_${index}`),
    );
    return limited;
  }

  /** Runs a command behind the words that limit it; fails where it does not end. */
  run(limit: readonly string[], ...verb: readonly string[]): Ended {
    const [command = '', ...rest] = [...limit, process.execPath, program, ...this.node.arguments];
    const argv = [...rest, '-o', 'json', ...verb, '-f', this.#file];
    const { status, signal, stdout, stderr, error } = spawnSync(command, argv, {
      encoding: 'utf8',
      timeout: 60_000,
    });
    this.#t.equal(error, undefined, `${limit.join(' ')} ${verb[0]} ends`);
    const volumes = status === null ? [] : reportsOf(stdout);
    return { code: status ?? undefined, signal: signal ?? undefined, stderr, volumes };
  }

  /**
   * What a limited mount has done is what it says, whatever it was; and a mounter that is short of nothing can take
   * it away.
   */
  async isAsReported(what: string, { code, signal, stderr, volumes }: Ended): Promise<void> {
    const t = this.#t;
    const mounted = volumes.filter(({ outcome }) => outcome !== 'failed').length;
    if (signal === undefined) {
      t.equal(this.node.mounts().length, mounted, `${what}: ${mounted} are mounted, as it says`);
      t.equal(code === 0, mounted === disks.length, `${what}: exit code ${code}`);
      if (code !== 0) t.match(stderr, /\S/, `${what}: ${stderr.trim().split('\n')[0]}`);
    }
    await this.node.mounter().unmount(vmi(this.#fields), { all: true });
    t.strictSame(this.node.mounts(), [], `${what}: no mount is left`);
    const targets = readdirSync(this.emptyDir).filter((name) => name.endsWith('.img'));
    t.strictSame(targets, [], `${what}: no target is left`);
    t.strictSame(readdirSync(this.node.stateDirectory), [], `${what}: no record is left`);
  }
}

function reportsOf(stdout: string): MountReport[] {
  if (!stdout.startsWith('[')) return [];
  const instances: { volumes: MountReport[] }[] = JSON.parse(stdout);
  return instances.flatMap(({ volumes }) => volumes);
}
