import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Container } from '../demo/container.ts';
import { until } from '../demo/holder.ts';
import type { PodDirectories } from '../demo/node-directories.ts';
import type { Stage } from './scenario.ts';

/** Starts the sidecar of a disk image that holds one raw disk, and waits for its socket. */
export async function startSidecar(
  { node, binaries, cleanup }: Stage,
  pod: PodDirectories,
  name: string,
): Promise<Container> {
  const image = node.image(name);
  mkdirSync(join(image, 'disk'), { recursive: true });
  writeFileSync(join(image, 'disk/disk.img'), Buffer.alloc(1024 * 1024, name), { mode: 0o444 });
  const sockets = pod.emptyDir('container-disks');
  const sidecar = new Container({
    image,
    scratch: node.scratch(),
    argv: ['/usr/bin/container-disk', '--copy-path', `/disks/${name}`],
    mounts: [
      { source: binaries, destination: '/usr/bin' },
      { source: sockets, destination: '/disks' },
    ],
  });
  cleanup.use(sidecar);
  const isThere = await until(() => existsSync(join(sockets, `${name}.sock`)) || sidecar.ended);
  if (!isThere || sidecar.ended) throw new Error(`${name}: no socket: ${sidecar.stderr}`);
  return sidecar;
}

/** A VMI with container disks of these names. */
export function vmiWith(pod: PodDirectories, volumes: readonly string[]): object {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name: 'demo', namespace: 'default', uid: 'b7f3f0e2-0000-4000-8000-000000000001' },
    spec: {
      volumes: volumes.map((name) => ({
        name,
        containerDisk: { image: `registry.example/${name}-disk` },
      })),
    },
    status: { activePods: { [pod.uid]: 'this-node' } },
  };
}
