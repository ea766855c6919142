import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VirtLauncher } from '../../../scripts/demo/virt-launcher.ts';
import { kernelArguments, kernelBoot, overlay, runtime } from './paths.ts';
import { QmpClient } from './qmp-client.ts';
import { SerialConsole } from './serial-console.ts';

/** QEMU without KVM, as uid 107 in the launcher pod, before its first instruction. */
export class VirtualMachine implements AsyncDisposable {
  /** `nsenter`, whose child is QEMU. */
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly qmp: QmpClient;
  readonly console: SerialConsole;

  private constructor(
    child: ChildProcess,
    exit: Promise<unknown>,
    qmp: QmpClient,
    console: SerialConsole,
  ) {
    this.#child = child;
    this.#exit = exit;
    this.qmp = qmp;
    this.console = console;
  }

  static async start(launcher: VirtLauncher): Promise<VirtualMachine> {
    const [command, ...rest] = launcher.asQemu('qemu-system-x86_64', ...options);
    const child = spawn(command, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
    const exit = once(child, 'exit');
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    // Short names: a socket's path may have 107 bytes.
    const directory = `/proc/${launcher.container.pid}/root${runtime}`;
    await using failed = new AsyncDisposableStack();
    failed.defer(() => void child.kill('SIGKILL'));
    while (!['qmp', 'serial'].every((name) => existsSync(`${directory}/${name}`))) {
      if (child.exitCode !== null) throw new Error(`QEMU did not start: ${said}`);
      await sleep(5);
    }
    const console = failed.use(await SerialConsole.connect(`${directory}/serial`));
    const qmp = failed.use(await QmpClient.connect(`${directory}/qmp`));
    failed.move();
    return new VirtualMachine(child, exit, qmp, console);
  }

  /** QEMU's lines in `/proc/<pid>/status`, by their names. */
  status(): Map<string, string> {
    const { pid } = this.#child;
    const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    const text = readFileSync(`/proc/${child}/status`, 'utf8');
    return new Map(
      text.split('\n').map((line) => [line.split(':')[0] ?? '', line.split('\t')[1] ?? '']),
    );
  }

  /** The exit code of QEMU, once it has ended. */
  async ended(): Promise<number | null> {
    await this.#exit;
    return this.#child.exitCode;
  }

  /** Ends what waits for QEMU; QEMU itself ends with the launcher's container at the latest. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
    this.qmp[Symbol.dispose]();
    this.console[Symbol.dispose]();
  }
}

/** The root disk is the overlay; kernel and initrd are those that were mounted. */
const disk = { driver: 'qcow2', 'node-name': 'root', file: { driver: 'file', filename: overlay } };

const options = [
  ...['-machine', 'q35', '-accel', 'tcg', '-cpu', 'max', '-m', '256'],
  ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-S'],
  ...['-kernel', `${kernelBoot}/vmlinuz`, '-initrd', `${kernelBoot}/initrd`],
  ...['-append', kernelArguments],
  ...['-chardev', `socket,id=serial,path=${runtime}/serial,server=on,wait=off`],
  ...['-serial', 'chardev:serial'],
  ...['-qmp', `unix:${runtime}/qmp,server=on,wait=off`],
  ...['-blockdev', JSON.stringify(disk), '-device', 'virtio-blk-pci,drive=root,serial=root'],
  ...['-device', 'virtio-scsi-pci,id=scsi0'],
];
