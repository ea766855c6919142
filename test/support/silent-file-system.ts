import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import type { Test } from 'tap';

/** A FUSE file system whose server never reads a request: as that of a snapshotter whose registry is away (fuse(4)). */
const server = `
  use Fcntl;
  my ($directory) = @ARGV;
  sysopen(my $device, '/dev/fuse', O_RDWR) or die "open /dev/fuse: $!";
  my $options = 'fd=' . fileno($device) . ',rootmode=40000,user_id=0,group_id=0,allow_other';
  my ($source, $type) = ('silent', 'fuse');
  syscall($ARGV[1], $source, $directory, $type, 0, $options) == 0 or die "mount: $!";
  $| = 1;
  print "mounted\\n";
  sleep 600;
`;

/** mount(2) on each architecture. */
const mount: Partial<Record<NodeJS.Architecture, number>> = { x64: 165, arm64: 40 };

/** Mounts it; whoever looks into the directory waits until the test ends. */
export async function silentFileSystem(t: Test, directory: string): Promise<void> {
  mkdirSync(directory);
  const child = spawn('perl', ['-e', server, directory, String(mount[process.arch])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    // Without its server every request of the file system ends with an error.
    child.kill('SIGKILL');
    await once(child, 'close');
    execFileSync('umount', ['-l', directory]);
  });
  await once(child.stdout, 'data');
}
