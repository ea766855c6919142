// Code in .init and .fini, which run before the constructors and after the destructors, and exceptions in each place.
#include <cstdio>
#include <stdexcept>
#include <unistd.h>

static void say(const char *text) {
  int length = 0;
  while (text[length]) length++;
  if (write(1, text, length) < 0) _exit(1);
}

extern "C" __attribute__((used)) void in_init() { say("init\n"); }
extern "C" __attribute__((used)) void in_fini() { say("fini\n"); }
asm(".section .init\n call in_init\n .previous");
asm(".section .fini\n call in_fini\n .previous");

__attribute__((constructor)) static void construct() {
  try {
    throw std::runtime_error("in a constructor\n");
  } catch (const std::exception &error) {
    say(error.what());
  }
}

__attribute__((destructor)) static void destruct() {
  try {
    throw std::runtime_error("in a destructor\n");
  } catch (const std::exception &error) {
    say(error.what());
  }
}

int main() { say("main\n"); }
