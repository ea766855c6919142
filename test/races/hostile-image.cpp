// The program of a hostile image: listens on a socket as the holder does, and swaps the disk in its root file system.
//
// hostile-image files|mounts SEED CANARY SOCKET. It gives up all that uid 107 has not, and the former root at /old.
// `files` swaps files, links and directories of /disk.
// `mounts` does it with mounts, in user and mount namespaces of its own, as a container without seccomp may.
// Prints on SIGTERM how many of its changes the kernel made.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <grp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

static volatile sig_atomic_t ended = 0;
static unsigned long done = 0;

static void count(int result) {
  if (result == 0) done += 1;
}

static void need(bool isTrue, const char *what) {
  if (isTrue) return;
  perror(what);
  exit(1);
}

static void write_all(const char *path, const std::string &text) {
  int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0444);
  need(file >= 0 && write(file, text.data(), text.size()) == (ssize_t)text.size(), path);
  close(file);
}

static void swap_files(const char *canary, unsigned int seed) {
  const std::string up = "../../../../../../../../../../..";
  mkdir("/decoys", 0755);
  mkdir("/decoys/two", 0755);
  write_all("/decoys/two/a", "a");
  write_all("/decoys/two/b", "b");
  mkdir("/decoys/directory", 0755);
  mkfifo("/decoys/pipe", 0666);
  count(symlink(canary, "/decoys/absolute"));
  count(symlink((up + canary).c_str(), "/decoys/relative"));
  count(symlink((std::string("/proc/1/root") + canary).c_str(), "/decoys/magic"));
  count(symlink((std::string("/proc/self/cwd/") + up + canary).c_str(), "/decoys/own"));
  count(symlink((up + canary + "/..").c_str(), "/decoys/outside"));
  const char *forDisk[] = {"absolute", "relative", "magic", "own", "directory", "pipe"};
  const char *forDirectory[] = {"two", "outside", "absolute", "directory"};
  while (!ended) {
    const bool isDisk = rand_r(&seed) % 3 != 0;
    const char *name = isDisk ? forDisk[rand_r(&seed) % 6] : forDirectory[rand_r(&seed) % 4];
    const std::string decoy = std::string("/decoys/") + name;
    const char *place = isDisk ? "/disk/disk.img" : "/disk";
    for (int times = 0; times < 2; times += 1) {
      count(syscall(SYS_renameat2, AT_FDCWD, decoy.c_str(), AT_FDCWD, place, 2 /* RENAME_EXCHANGE */));
    }
  }
}

static void swap_mounts(unsigned int seed) {
  write_all("/decoys.img", std::string(4096, 'd'));
  const char *sources[] = {"/decoys.img", "/proc/1/status", "/proc/self/mountinfo", "/usr/bin/hostile-image"};
  while (!ended) {
    switch (rand_r(&seed) % 4) {
      case 0: count(mount("/disks", "/disk", nullptr, MS_BIND | MS_REC, nullptr)); break;
      case 1: count(mount("none", "/disk", "tmpfs", 0, nullptr)); break;
      default: count(mount(sources[rand_r(&seed) % 4], "/disk/disk.img", nullptr, MS_BIND, nullptr)); break;
    }
    if (rand_r(&seed) % 2) count(umount2("/disk/disk.img", MNT_DETACH));
    while (rand_r(&seed) % 3 && umount2("/disk", MNT_DETACH) == 0) done += 1;
    while (rand_r(&seed) % 3 && umount2("/disk/disk.img", MNT_DETACH) == 0) done += 1;
  }
}

int main(int argc, char **argv) {
  signal(SIGTERM, [](int) { ended = 1; });
  signal(SIGPIPE, SIG_IGN);
  need(umount2("/old", MNT_DETACH) == 0 && chdir("/") == 0, "umount /old");
  need(setgroups(0, nullptr) == 0 && setgid(107) == 0 && setuid(107) == 0, "setuid");
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0, "prctl");
  const bool isMounts = strcmp(argv[1], "mounts") == 0;
  if (isMounts) {
    need(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, "unshare");
    write_all("/proc/self/setgroups", "deny");
    write_all("/proc/self/uid_map", "107 107 1");
    write_all("/proc/self/gid_map", "107 107 1");
  }
  sockaddr_un address = {AF_UNIX, {}};
  strncpy(address.sun_path, argv[4], sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  const auto size = sizeof(address);
  need(bind(listener, reinterpret_cast<sockaddr *>(&address), size) == 0, "bind");
  need(listen(listener, 1024) == 0, "listen");
  std::thread([listener] {
    for (;;) close(accept(listener, nullptr, nullptr));
  }).detach();
  if (isMounts) swap_mounts(atoi(argv[2]));
  else swap_files(argv[3], atoi(argv[2]));
  printf("%lu\n", done);
  fflush(stdout);
  _exit(0);
}
