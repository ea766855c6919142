// A weak import is bound when a library has it, also where nothing else needs it; one that no library has is null.
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sys/random.h>

extern "C" {
int getentropy(void *, size_t) __attribute__((weak));
double lgamma_r(double, int *) __attribute__((weak));
int no_library_has_this() __attribute__((weak));
int timer_getoverrun(timer_t) __attribute__((weak));
}

int main() {
  char bytes[8];
  int sign = 0;
  std::printf("%d %d\n", getentropy != nullptr, getentropy ? getentropy(bytes, sizeof bytes) : -1);
  std::printf("%d %.4f\n", lgamma_r != nullptr, lgamma_r ? lgamma_r(4.5, &sign) : 0);
  std::cout << std::flush;  // libstdc++ brings libm along
  std::printf("%d %d\n", timer_getoverrun != nullptr, no_library_has_this != nullptr);
}
