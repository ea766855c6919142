// Thrown by libstdc++, thrown through a frame of libc, thrown in a thread, rethrown, and not caught at all.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Guard {
  const char *name;
  ~Guard() { std::cout << "unwound " << name << "\n"; }
};

static int compare(const void *, const void *) {
  Guard guard{"compare"};
  throw std::runtime_error("from a callback");
}

static void nested(int depth) {
  Guard guard{"nested"};
  if (depth == 0) throw std::logic_error("deep");
  nested(depth - 1);
}

int main(int argc, char **) {
  std::vector<int> one(1);
  try {
    one.at(argc + 5);
  } catch (const std::out_of_range &error) {
    std::cout << "caught " << error.what() << "\n";
  }
  try {
    std::stoi("not a number");
  } catch (const std::invalid_argument &error) {
    std::cout << "caught " << error.what() << "\n";
  }
  int pair[2] = {2, 1};
  try {
    qsort(pair, 2, sizeof *pair, compare);
  } catch (const std::exception &error) {
    std::cout << "caught " << error.what() << "\n";
  }
  std::thread([] {
    try {
      throw 5;
    } catch (int number) {
      std::cout << "caught in a thread " << number << "\n";
    }
  }).join();
  try {
    nested(3);
  } catch (const std::exception &error) {
    std::cout << "caught " << error.what() << "\n";
  }
  std::exception_ptr kept;
  try {
    throw std::string("kept");
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    std::rethrow_exception(kept);
  } catch (const std::string &text) {
    std::cout << "rethrown " << text << "\n";
  }
  std::set_terminate([] {
    std::cout << "terminate" << std::endl;
    std::_Exit(3);
  });
  [&]() noexcept { nested(0); }();
}
