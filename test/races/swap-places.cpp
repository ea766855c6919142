// A tenant in an emptyDir: swaps what is at the places of disks for links, files and directories, as fast as it can.
//
// swap-places SEED CANARY PLACE... in the emptyDir, as uid 107. CANARY is a directory of the host with `file`,
// `directory` and `socket`. Prints on SIGTERM how many of its changes the kernel made.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

static volatile sig_atomic_t ended = 0;
static unsigned long done = 0;

static void count(int result) {
  if (result == 0) done += 1;
}

static void exchange(const char *one, const char *other) {
  count(syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 2 /* RENAME_EXCHANGE */));
}

static void put(const char *name, const char *content) {
  int file = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_NOFOLLOW, 0644);
  if (file < 0) return;
  if (write(file, content, strlen(content)) >= 0) done += 1;
  close(file);
}

static void away(const char *name) {
  count(unlink(name));
  count(rmdir(name));
}

int main(int argc, char **argv) {
  signal(SIGTERM, [](int) { ended = 1; });
  unsigned int seed = atoi(argv[1]);
  const std::string canary = argv[2];
  const std::vector<const char *> places(argv + 3, argv + argc);
  const char *decoys[] = {"to-canary-file", "to-canary-directory", "to-canary-socket", "to-itself", "own-file", "own-directory", "to-other"};
  while (!ended) {
    const char *place = places[rand_r(&seed) % places.size()];
    const bool isSocket = strstr(place, ".sock") != nullptr;
    const char *decoy = decoys[rand_r(&seed) % 7];
    if (isSocket) {
      count(symlink((canary + "/socket").c_str(), "to-canary-socket"));
      // Both ways at once, so that the socket is never lost.
      exchange(place, "to-canary-socket");
      exchange(place, "to-canary-socket");
      continue;
    }
    const std::string moved = "moved-" + std::to_string(rand_r(&seed) % 3);
    switch (rand_r(&seed) % 9) {
      case 0: exchange(place, decoy); away(decoy); break;
      case 1: count(rename(place, moved.c_str())); away(moved.c_str()); break;
      case 2: count(symlink((canary + "/file").c_str(), place)); break;
      case 3: count(symlink((canary + "/directory").c_str(), place)); break;
      case 4: count(mkdir(place, 0755)); break;
      case 5: put(place, "of a tenant"); break;
      case 6: exchange(place, places[0]); break;
      default: break;
    }
    away(place);
    for (const char *name : decoys) {
      if (access(name, F_OK) == 0 && rand_r(&seed) % 2) continue;
      if (strcmp(name, "own-file") == 0) put(name, "");
      else if (strcmp(name, "own-directory") == 0) count(mkdir(name, 0755));
      else if (strcmp(name, "to-itself") == 0) count(symlink(".", name));
      else if (strcmp(name, "to-other") == 0) count(symlink(places[0], name));
      else count(symlink((canary + "/" + (name + strlen("to-canary-"))).c_str(), name));
    }
  }
  printf("%lu\n", done);
  return 0;
}
