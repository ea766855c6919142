import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kernelArguments, kernelBoot, overlay, runtime } from './paths.ts';
import type { Pods } from './pods.ts';
import { SerialConsole } from './serial-console.ts';

/** The domain's definition, in libvirt's words. */
const domain = `
<domain type='qemu'>
  <name>machine</name>
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>${kernelBoot}/vmlinuz</kernel>
    <initrd>${kernelBoot}/initrd</initrd>
    <cmdline>${kernelArguments}</cmdline>
  </os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/>
      <source file='${overlay}'/>
      <target dev='vda' bus='virtio'/>
      <serial>root</serial>
    </disk>
    <controller type='scsi' model='virtio-scsi'/>
    <serial type='unix'><source mode='bind' path='${runtime}/serial'/></serial>
    <memballoon model='none'/>
  </devices>
</domain>`;

/**
 * libvirt as KubeVirt has it: a daemon of uid 107 (`qemu:///session`) in the launcher pod, with one domain. It is
 * started by virsh, and ends with the pod.
 */
export class Libvirt implements Disposable {
  readonly #pods: Pods;
  readonly console: SerialConsole;

  private constructor(pods: Pods, console: SerialConsole) {
    this.#pods = pods;
    this.console = console;
  }

  /** Defines the domain, which has not run yet. */
  static async start(pods: Pods): Promise<Libvirt> {
    virsh(pods, domain, 'create', '--paused');
    const { pid } = pods.launcher.container;
    const console = await SerialConsole.connect(`/proc/${pid}/root${runtime}/serial`);
    return new Libvirt(pods, console);
  }

  /** Runs a command of virsh on the domain; a file with the text is its last argument. */
  domain(command: string, text?: string): string {
    return virsh(this.#pods, text, command, 'machine');
  }

  [Symbol.dispose](): void {
    this.console[Symbol.dispose]();
  }
}

function virsh({ pod, launcher }: Pods, text: string | undefined, ...words: string[]): string {
  if (text !== undefined) {
    writeFileSync(join(pod.emptyDir('libvirt-runtime'), 'input.xml'), text);
    words.push(`${runtime}/input.xml`);
  }
  const home = ['HOME', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME'];
  const environment = home.map((name) => `${name}=${runtime}`);
  const [command, ...rest] = launcher.asQemu(
    ...['env', ...environment, 'virsh', '--quiet', '--connect', 'qemu:///session', ...words],
  );
  return execFileSync(command, rest, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
