import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { NodeDirectories } from '../demo/node-directories.ts';
import type { Scene } from './scenario.ts';

const mounterProgram = join(import.meta.dirname, '../../bin/container-disk-mounter.ts');

/** Words that run the mounter's command on this node. */
export function mounterWords(node: NodeDirectories): string[] {
  return [
    ...[process.execPath, mounterProgram],
    ...['--kubelet-dir', node.kubelet],
    ...['--state-dir', join(node.root, 'run/container-disk/mounts')],
    ...['--host-mount-namespace', '/proc/self/ns/mnt'],
  ];
}

/**
 * Runs a command, or the user's shell, on a node: `vmi.yaml` is there, the commands of the scene and the mounter's are
 * found, `$POD` is the directory of the pod.
 *
 * @param signal ends it, and throws
 * @returns its exit code
 */
export async function runOn(
  node: NodeDirectories,
  scene: Scene,
  command: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const directory = join(node.root, 'on-call');
  const bin = join(node.root, 'bin');
  const requests = join(node.root, 'requests');
  for (const each of [directory, bin, requests]) mkdirSync(each);
  for (const [name, vmi] of Object.entries({ 'vmi.yaml': scene.vmi, ...scene.otherVmis })) {
    writeFileSync(join(directory, name), stringify(vmi));
  }
  const script = (name: string, text: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const commands = { 'container-disk-mounter': mounterWords(node), ...scene.commands };
  for (const [name, words] of Object.entries(commands)) {
    script(name, `exec ${words.map(quoted).join(' ')} "$@"`);
  }
  script(
    'kubelet',
    `echo "$2" > ${requests}/new && mv ${requests}/new ${requests}/start && while [ -e ${requests}/start ]; do sleep 0.05; done`,
  );
  using _requests = serve(requests, scene);
  const [program = process.env['SHELL'] ?? 'sh', ...argv] = command;
  const child = spawn(program, argv, {
    cwd: directory,
    stdio: 'inherit',
    signal,
    // An interactive shell ignores SIGTERM.
    killSignal: 'SIGHUP',
    env: {
      ...process.env,
      PATH: `${bin}:${process.env['PATH']}`,
      POD: join(scene.pod.emptyDir('container-disks'), '../../..'),
      PS1: 'node# ',
    },
  });
  const [code] = await once(child, 'close');
  return Number(code ?? 1);
}

/** `kubelet start NAME` in the shell is answered here. */
function serve(directory: string, scene: Scene): Disposable {
  const request = join(directory, 'start');
  const watcher = watch(directory, (_event, name) => {
    if (name !== 'start' || !existsSync(request)) return;
    const argument = readFileSync(request, 'utf8').trim();
    Promise.resolve(scene.kubelet?.(argument))
      .catch((error: unknown) => console.error(String(error)))
      .finally(() => rmSync(request, { force: true }));
  });
  return { [Symbol.dispose]: () => watcher.close() };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
