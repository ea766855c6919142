import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { IPod } from 'kubernetes-models/v1';
import type { Test } from 'tap';
import { Container } from '../../scripts/demo/container.ts';
import { type NodeDirectories, PodDirectories } from '../../scripts/demo/node-directories.ts';
import { program } from '../support/holder.ts';

type Spec = NonNullable<IPod['spec']>;
type PodContainer = Spec['containers'][number];

/** What the containers of a pod get that is not in its manifest. */
export interface PodEnvironment {
  readonly uid: string;
  /** Roots of the images, by the name before the tag. */
  readonly images: Readonly<Record<string, string>>;
  /** Directories of the claims. */
  readonly claims?: Readonly<Record<string, string>>;
  /** Words before a command, by the name of the container. */
  readonly prefixes?: Readonly<Record<string, readonly string[]>>;
}

/** The image of the program: the root that the copy step and the hotplug pod have. */
export function programImage(node: NodeDirectories): string {
  const image = node.image('container-disk');
  mkdirSync(join(image, 'usr/bin'), { recursive: true });
  copyFileSync(program, join(image, 'usr/bin/container-disk'));
  symlinkSync('container-disk', join(image, 'usr/bin/cp'));
  return image;
}

/** A pod of a manifest: its containers are run as they are written there, each in its image's root. */
export class ExamplePod {
  readonly directories: PodDirectories;
  readonly #t: Test;
  readonly #node: NodeDirectories;
  readonly #spec: Spec;
  readonly #environment: PodEnvironment;

  constructor(t: Test, node: NodeDirectories, manifest: object, environment: PodEnvironment) {
    const { spec } = manifest as IPod;
    if (spec === undefined) throw new Error('the manifest has no spec');
    this.directories = new PodDirectories(node.kubelet, environment.uid);
    this.#t = t;
    this.#node = node;
    this.#spec = spec;
    this.#environment = environment;
  }

  /** As the kubelet does: the init containers one after the other, then the others. */
  async start(): Promise<Map<string, Container>> {
    for (const container of this.#spec.initContainers ?? []) {
      const run = this.#run(container);
      const code = await run.exit;
      if (code !== 0) throw new Error(`${container.name}: exit ${code} ${run.stderr}`);
    }
    return new Map(this.#spec.containers.map((each) => [each.name, this.#run(each)]));
  }

  #run(container: PodContainer): Container {
    const { name, image = '', command = [], args = [], volumeMounts = [] } = container;
    const root = this.#environment.images[image.replace(/:[^:/]*$/, '')];
    if (root === undefined) throw new Error(`the test has no image ${image}`);
    const run = new Container({
      image: root,
      scratch: this.#node.scratch(),
      argv: [...command, ...args],
      mounts: volumeMounts.map((mount) => ({
        source: this.#source(mount.name),
        destination: mount.mountPath,
      })),
      prefix: this.#environment.prefixes?.[name] ?? [],
      hostToContainer: volumeMounts.some((mount) => mount.mountPropagation === 'HostToContainer'),
    });
    this.#t.teardown(() => run[Symbol.asyncDispose]());
    return run;
  }

  #source(name: string): string {
    const volume = this.#spec.volumes?.find((each) => each.name === name);
    if (volume?.emptyDir) return this.directories.emptyDir(name);
    const claim = this.#environment.claims?.[volume?.persistentVolumeClaim?.claimName ?? ''];
    if (claim === undefined) throw new Error(`the test has no volume ${name}`);
    return claim;
  }
}
