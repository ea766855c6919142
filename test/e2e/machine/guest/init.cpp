// The guest's only process: loads the drivers, tells each disk that comes, changes or goes on the serial line, and
// writes to disks when it is asked to.
//
//   ready                            all drivers are loaded
//   disk NAME BYTES ro|rw SHA256     a disk is there; the sum is of its first MiB
//   gone NAME
//   wrote NAME | refused NAME WHY    the answers to: write NAME TEXT (at the start of the disk's second MiB)
//
// "off" turns the machine off. NAME is the serial number that the disk was given.

#include <dirent.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

constexpr size_t mebibyte = 1024 * 1024;

/// Turns the machine off, once the serial line has sent everything.
static void powerOff() {
  tcdrain(STDOUT_FILENO);
  reboot(RB_POWER_OFF);
}

static void fail(const std::string &what) {
  printf("failed %s: %s\n", what.c_str(), strerror(errno));
  powerOff();
}

static std::string content(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static void mountKernelFileSystems() {
  for (const char *type : {"proc", "sysfs", "devtmpfs"}) {
    const std::string target = std::string("/") + type;
    mkdir(target.c_str(), 0755);
    if (mount(type, target.c_str(), type, 0, nullptr) != 0) fail(target);
  }
}

/// The serial line as it is: nothing echoed, no line ends changed.
static void openSerialLine() {
  const int line = open("/devtmpfs/ttyS0", O_RDWR | O_NOCTTY);
  if (line < 0) fail("ttyS0");
  termios settings{};
  tcgetattr(line, &settings);
  cfmakeraw(&settings);
  tcsetattr(line, TCSANOW, &settings);
  for (int number : {0, 1, 2}) dup2(line, number);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  // SYSLOG_ACTION_CONSOLE_LEVEL: from now on the kernel writes into these lines only when it panics.
  klogctl(8, nullptr, 1);
}

/// The drivers, in the order of the list.
static void loadModules() {
  std::ifstream list("/modules/list");
  for (std::string name; std::getline(list, name);) {
    const int file = open(("/modules/" + name).c_str(), O_RDONLY);
    if (file < 0 || syscall(SYS_finit_module, file, "", 0) != 0) fail(name);
    close(file);
  }
}

/// SHA-256 by the kernel (AF_ALG).
static std::string sha256(const std::string &bytes) {
  sockaddr_alg address{};
  address.salg_family = AF_ALG;
  strcpy(reinterpret_cast<char *>(address.salg_type), "hash");
  strcpy(reinterpret_cast<char *>(address.salg_name), "sha256");
  const int algorithm = socket(AF_ALG, SOCK_SEQPACKET, 0);
  if (bind(algorithm, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) fail("sha256");
  const int operation = accept(algorithm, nullptr, nullptr);
  for (size_t done = 0; done < bytes.size();) {
    const size_t length = std::min<size_t>(bytes.size() - done, 4096);
    const int more = done + length < bytes.size() ? MSG_MORE : 0;
    if (send(operation, bytes.data() + done, length, more) != ssize_t(length)) fail("sha256");
    done += length;
  }
  unsigned char digest[32];
  if (read(operation, digest, sizeof digest) != sizeof digest) fail("sha256");
  close(operation);
  close(algorithm);
  std::string text;
  char pair[3];
  for (unsigned char byte : digest) {
    snprintf(pair, sizeof pair, "%02x", byte);
    text += pair;
  }
  return text;
}

/// The serial number: virtio-blk has an attribute, SCSI the page 0x80 of the vital product data, 4 bytes of header.
static std::string serialNumber(const std::string &device) {
  const std::string directory = "/sysfs/block/" + device;
  std::string serial = content(directory + "/serial");
  if (serial.empty()) {
    const std::string page = content(directory + "/device/vpd_pg80");
    if (page.size() > 4) serial = page.substr(4);
  }
  return serial.substr(0, serial.find_first_of(std::string("\n \0", 3)));
}

/// Devices by the names of their disks.
static std::map<std::string, std::string> disks() {
  std::map<std::string, std::string> found;
  DIR *directory = opendir("/sysfs/block");
  for (const dirent *entry; (entry = readdir(directory)) != nullptr;) {
    const std::string serial = serialNumber(entry->d_name);
    if (!serial.empty()) found[serial] = entry->d_name;
  }
  closedir(directory);
  return found;
}

/// Prints a disk; false where it cannot be read yet.
static bool print(const std::string &name, const std::string &device) {
  const int disk = open(("/devtmpfs/" + device).c_str(), O_RDONLY | O_DIRECT);
  if (disk < 0) return false;
  void *buffer = aligned_alloc(4096, mebibyte);
  const ssize_t length = pread(disk, buffer, mebibyte, 0);
  close(disk);
  const bool isRead = length > 0;
  if (isRead) {
    const std::string directory = "/sysfs/block/" + device;
    const unsigned long long bytes = std::stoull(content(directory + "/size")) * 512;
    const char *access = content(directory + "/ro")[0] == '1' ? "ro" : "rw";
    const std::string sum = sha256({static_cast<char *>(buffer), size_t(length)});
    printf("disk %s %llu %s %s\n", name.c_str(), bytes, access, sum.c_str());
  }
  free(buffer);
  return isRead;
}

static void write(const std::string &name, const std::string &text) {
  const auto all = disks();
  const auto device = all.find(name);
  const std::string path = device == all.end() ? "/none" : "/devtmpfs/" + device->second;
  const int disk = open(path.c_str(), O_WRONLY);
  const bool isWritten = disk >= 0 &&
                         pwrite(disk, text.data(), text.size(), mebibyte) == ssize_t(text.size()) &&
                         fsync(disk) == 0;
  if (isWritten) printf("wrote %s\n", name.c_str());
  else printf("refused %s %s\n", name.c_str(), strerror(errno));
  if (disk >= 0) close(disk);
}

static void obey(const std::string &command) {
  const size_t first = command.find(' '), second = command.find(' ', first + 1);
  const std::string verb = command.substr(0, first);
  if (verb == "write") write(command.substr(first + 1, second - first - 1), command.substr(second + 1));
  if (verb == "off") powerOff();
}

int main() {
  mountKernelFileSystems();
  openSerialLine();
  loadModules();
  printf("ready\n");
  std::set<std::string> printed;
  std::string typed;
  for (;;) {
    const auto now = disks();
    for (const auto &[name, device] : now)
      if (!printed.count(name) && print(name, device)) printed.insert(name);
    for (auto name = printed.begin(); name != printed.end();) {
      if (now.count(*name)) { ++name; continue; }
      printf("gone %s\n", name->c_str());
      name = printed.erase(name);
    }
    pollfd input{0, POLLIN, 0};
    if (poll(&input, 1, 100) != 1) continue;
    char buffer[256];
    const ssize_t length = read(0, buffer, sizeof buffer);
    if (length > 0) typed.append(buffer, size_t(length));
    for (size_t end; (end = typed.find('\n')) != std::string::npos; typed.erase(0, end + 1))
      obey(typed.substr(0, end));
  }
}
