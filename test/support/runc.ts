import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { qemu } from '../../scripts/demo/container.ts';
import { program, Run } from './holder.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The parts of `linux.seccomp` of the OCI runtime specification that the profile has. */
export interface SeccompProfile {
  readonly defaultAction: string;
  readonly syscalls: readonly {
    readonly names: readonly string[];
    readonly action: string;
    readonly args?: readonly object[];
  }[];
}

/** The profile of the holder, as it is delivered. */
export const holderProfile: SeccompProfile = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../docs/container-disk.seccomp.json'), 'utf8'),
);

/** The profile without one of the calls that it allows. */
export function without(profile: SeccompProfile, call: string): SeccompProfile {
  const syscalls = profile.syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => name !== call) }))
    .filter(({ names }) => names.length > 0);
  return { ...profile, syscalls };
}

let count = 0;

/** Containers of runc, as the kubelet's runtime makes them for a sidecar: uid 107, no capability, a read-only root. */
export class Runc {
  /** What the containers have at /disks. */
  readonly emptyDir: string;
  readonly #t: Test;
  readonly #bundle: string;
  readonly #state: string;
  readonly #ids = new Map<Run, string>();

  constructor(t: Test) {
    this.#t = t;
    const directory = temporaryDirectory(t);
    chmodSync(directory, 0o755);
    this.#bundle = join(directory, 'bundle');
    this.#state = join(directory, 'state');
    this.emptyDir = join(directory, 'disks');
    mkdirSync(this.emptyDir);
    chownSync(this.emptyDir, qemu, qemu);
    for (const name of ['usr/bin', 'proc', 'disks']) {
      mkdirSync(join(this.#bundle, 'rootfs', name), { recursive: true });
    }
    this.add(program);
  }

  /** Puts a program into /usr/bin. */
  add(path: string): void {
    const copy = join(this.#bundle, 'rootfs/usr/bin', path.split('/').at(-1) ?? '');
    copyFileSync(path, copy);
    chmodSync(copy, 0o755);
  }

  /** Starts a command under a profile; signals to runc reach it. */
  start(argv: readonly string[], seccomp: SeccompProfile | undefined): Run {
    count += 1;
    const id = `container-disk-test-${process.pid}-${count}`;
    writeFileSync(
      join(this.#bundle, 'config.json'),
      JSON.stringify(configuration(id, argv, this.emptyDir, seccomp)),
    );
    const command = ['runc', '--root', this.#state];
    this.#t.teardown(() => spawnSync('runc', ['--root', this.#state, 'delete', '--force', id]));
    const run = new Run(this.#t, ['run', '--bundle', this.#bundle, id], { command });
    this.#ids.set(run, id);
    return run;
  }

  /** Sends a signal to the container's process, not to runc. */
  kill(run: Run, signal: NodeJS.Signals): void {
    const argv = ['--root', this.#state, 'kill', this.#ids.get(run) ?? '', signal];
    execFileSync('runc', argv);
  }
}

function configuration(
  id: string,
  args: readonly string[],
  emptyDir: string,
  seccomp: SeccompProfile | undefined,
): object {
  return {
    ociVersion: '1.0.2',
    root: { path: 'rootfs', readonly: true },
    process: {
      user: { uid: qemu, gid: qemu },
      cwd: '/',
      args,
      env: [],
      noNewPrivileges: true,
      capabilities: {},
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/disks', type: 'bind', source: emptyDir, options: ['bind', 'rw'] },
    ],
    linux: {
      cgroupsPath: `/${id}`,
      namespaces: ['pid', 'mount', 'ipc', 'uts', 'network'].map((type) => ({ type })),
      ...(seccomp && { seccomp }),
    },
  };
}
