import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Containerd, socket } from './containerd.ts';
import { CriClient } from './cri-client.ts';
import { CriRuntime } from './cri-runtime.ts';
import { Host } from './host.ts';
import { writeImages } from './images.ts';

/** A node: a host of its own, containerd with the images on it, and its CRI plugin. */
export interface Node {
  readonly host: Host;
  readonly containerd: Containerd;
  /** Clients of the CRI are those of one run of containerd. */
  cri(): CriRuntime;
  /** Writes a VMI where the host has it, and answers with its path there. */
  write(vmi: object): string;
}

export async function startNode(t: Test): Promise<Node> {
  const host = new Host();
  t.teardown(() => host[Symbol.asyncDispose]());
  await host.ready();
  const containerd = new Containerd(host);
  await containerd.start();
  const directory = mkdtempSync(join(host.outside('/var/lib'), 'images-'));
  for (const archive of await writeImages(directory)) containerd.import(host.inside(archive));
  rmSync(directory, { recursive: true });
  return {
    host,
    containerd,
    cri() {
      const client = new CriClient(host.outside(socket));
      t.teardown(() => client[Symbol.dispose]());
      return new CriRuntime(host, client);
    },
    write(vmi) {
      const path = '/var/lib/vmi.json';
      writeFileSync(host.outside(path), JSON.stringify(vmi));
      return path;
    },
  };
}
