// With and without an initialiser, aligned, with a constructor and a destructor, in several threads, and errno.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <thread>
#include <vector>

thread_local int with = 7;
thread_local int without;
thread_local char text[16] = "abc";
alignas(32) thread_local double aligned = 2.5;
static thread_local long many[100];

struct Counted {
  int number = 40;
  Counted() { number += 2; }
  ~Counted() { std::printf("destroyed %d\n", number); }
};
thread_local Counted counted;

static void work(int id) {
  with += id;
  without += 2 * id;
  text[0] = 'A' + id;
  many[99] = id;
  counted.number += id;
  errno = id;
  std::printf("thread %d: %d %d %s %.1f %ld %d aligned %d errno %d\n", id, with, without, text, aligned, many[99],
              counted.number, static_cast<int>(reinterpret_cast<std::uintptr_t>(&aligned) % 32), errno);
}

int main() {
  errno = 9;
  for (int id = 1; id <= 3; id++) std::thread(work, id).join();
  std::cout << "main " << with << " " << without << " " << text << " " << aligned << " errno " << errno << "\n";
}
