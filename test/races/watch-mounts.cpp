// Looks at the mount table of its namespace after each change, and prints every mount outside of some directories that
// was not there at first, and every such one that has gone.
//
// watch-mounts DIRECTORY... Prints `watching`, and on SIGTERM how often it looked.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>

static volatile sig_atomic_t ended = 0;

static std::set<std::string> outside(int file, int count, char **directories) {
  std::string text;
  char part[65536];
  lseek(file, 0, SEEK_SET);
  for (ssize_t size; (size = read(file, part, sizeof(part))) > 0;) text.append(part, size);
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream fields(line);
    std::string field, point;
    for (int index = 0; index < 5 && fields >> field; index += 1) point = field;
    bool isInside = false;
    for (int index = 0; index < count; index += 1) {
      isInside |= point.rfind(std::string(directories[index]) + "/", 0) == 0;
    }
    if (!isInside) lines.insert(line);
  }
  return lines;
}

int main(int argc, char **argv) {
  struct sigaction action = {};
  action.sa_handler = [](int) { ended = 1; };
  sigaction(SIGTERM, &action, nullptr);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const int file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  const auto first = outside(file, argc - 1, argv + 1);
  unsigned long looks = 1;
  printf("watching\n");
  while (!ended) {
    pollfd change = {file, POLLPRI, 0};
    poll(&change, 1, 1000);
    const auto now = outside(file, argc - 1, argv + 1);
    looks += 1;
    for (const auto &line : now) if (!first.count(line)) printf("new %s\n", line.c_str());
    for (const auto &line : first) if (!now.count(line)) printf("gone %s\n", line.c_str());
  }
  printf("looked %lu\n", looks);
  return 0;
}
