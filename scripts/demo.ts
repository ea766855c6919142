import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { isRoot } from './demo/container.ts';
import { copyStep, follow, remove, startSidecar } from './demo/holder.ts';
import { hotplug } from './demo/hotplug.ts';
import { MounterCommand, mountDisk, mountTable, unmountDisk, vmiOf } from './demo/mounter.ts';
import { NodeDirectories } from './demo/node-directories.ts';
import { Report } from './demo/report.ts';

const root = join(import.meta.dirname, '..');
const program = join(root, 'dist/container-disk');

/** Whatever was made is undone when `cleanup` is disposed of, in the reverse order. */
async function demo(report: Report, cleanup: AsyncDisposableStack): Promise<void> {
  report.chapter('Build');
  execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'inherit' });

  report.chapter('A node, and a launcher pod with a container disk');
  const node = cleanup.use(new NodeDirectories());
  report.step(`the node's directories are in ${node.root}`);
  if (isRoot) node.shareMounts();
  const pod = node.pod();
  const binaries = await copyStep(node, pod, program, report);
  const launcher = await startSidecar(node, pod, binaries, 'disk-0', report);
  cleanup.use(launcher.sidecar);

  report.chapter('From the socket to the disk');
  await follow(launcher, report);

  if (isRoot) {
    report.chapter('Into the launcher pod');
    const before = mountTable(node.root);
    const mounter = new MounterCommand(node, vmiOf(launcher));
    cleanup.defer(() => void mounter.run('unmount', '--all'));
    await mountDisk(mounter, launcher, report);

    report.chapter('Into the running pod: hotplug');
    await using volumes = new AsyncDisposableStack();
    await hotplug(node, launcher, binaries, mounter, volumes, report);
    await volumes.disposeAsync();

    report.chapter('Out again');
    unmountDisk(mounter, node, launcher, before, report);
  } else {
    report.step(
      'not root: mounting into the launcher pod needs root on the node (sudo npm run demo)',
    );
  }

  report.chapter('The end of the pod');
  await remove(launcher, report);
}

const report = new Report();
const cleanup = new AsyncDisposableStack();
const interrupted = async (signal: NodeJS.Signals) => {
  console.log(`\n${signal}: cleaning up`);
  await cleanup.disposeAsync();
  process.exit(1);
};
process.once('SIGINT', interrupted);
process.once('SIGTERM', interrupted);
try {
  await demo(report, cleanup);
} catch (error) {
  const { message } = error instanceof Error ? error : new Error(String(error));
  report.check('the demo went to its end', false, message);
} finally {
  await cleanup.disposeAsync();
}
process.exitCode = report.summary() ? 0 : 1;
