import { type ChildProcess, spawn } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';

/**
 * A process that listens on a socket and has ended, while a child of it keeps the socket open: the kernel still
 * tells everybody the pid of the one that listened (unix(7), SO_PEERCRED).
 */
const program = `
  use Socket;
  my ($path, $fate) = @ARGV;
  $| = 1;
  socket(my $listener, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
  bind($listener, pack_sockaddr_un($path)) or die "bind: $!";
  my $listening = fork // die "fork: $!";
  if ($listening == 0) {
    listen($listener, $fate eq 'full' ? 0 : 16) or die "listen: $!";
    if ($fate eq 'full') {
      for (1 .. 2) {
        socket(my $client, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
        push @clients, $client;
        connect($client, pack_sockaddr_un($path)) or last if $_ == 1;
      }
      print "$$\\n";
      sleep 600;
    }
    fork // die "fork: $!" or sleep 600;
    exit 0;
  }
  if ($fate eq 'full') { sleep 600 }
  elsif ($fate eq 'zombie') {
    sleep 1 while !-e "/proc/$listening" || !grep { /^State:\\s+Z/ } do { open my $f, '<', "/proc/$listening/status"; <$f> };
    print "$listening\\n";
    sleep 600;
  }
  waitpid $listening, 0;
  if ($fate eq 'reused') {
    for (1 .. 1000) {
      open my $last, '>', '/proc/sys/kernel/ns_last_pid' or die "ns_last_pid: $!";
      syswrite $last, $listening - 1;
      my $other = fork // die "fork: $!";
      if ($other == 0) { sleep 600; exit }
      if ($other == $listening) { print "$other\\n"; sleep 600 }
      kill 'KILL', $other;
      waitpid $other, 0;
    }
    die "pid $listening was not given again";
  }
  print "$listening\\n";
  sleep 600;
`;

/** What became of the process that listened. */
export type Fate =
  /** It has ended. */
  | 'gone'
  /** It has ended, and nobody has waited for it. */
  | 'zombie'
  /** Its pid is that of another process now. */
  | 'reused'
  /** It is there, and accepts nothing; its backlog is full. */
  | 'full';

/** @returns the pid that the socket tells */
export async function abandonedSocket(t: Test, path: string, fate: Fate): Promise<number> {
  const child: ChildProcess = spawn('perl', ['-e', program, basename(path), fate], {
    // The name of a socket has room for 108 bytes.
    cwd: dirname(path),
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  t.teardown(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
  if (child.stdout === null) throw new Error('no pipe');
  for await (const line of createInterface(child.stdout)) return Number(line);
  throw new Error(`perl ended before the socket ${path} was abandoned`);
}
