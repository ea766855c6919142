// Functions that are chosen at start-up (gnu_indirect_function): the binary's own, and libc's.
#include <cmath>
#include <cstdio>
#include <cstring>

static int plain() { return 1; }
static int chosen() { return 2; }
extern "C" int (*resolve())() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse2") ? chosen : plain;
}
int function() __attribute__((ifunc("resolve")));

void *(*volatile copy)(void *, const void *, std::size_t) = std::memcpy;
std::size_t (*volatile length)(const char *) = std::strlen;
double (*volatile sine)(double) = std::sin;

int main() {
  int (*pointer)() = function;
  char text[64];
  copy(text, "copied by a pointer", 20);
  std::printf("%d %d %s %zu %.6f\n", function(), pointer(), text, length(text), sine(1));
  std::printf("%d %d\n", std::memcmp(text, "copied", 6), pointer == function);
  std::printf("%.3f %s\n", std::floor(2.7), std::strchr(text, 'b'));
}
