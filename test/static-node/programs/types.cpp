// What the standard library defines once for all: typeinfo and vtables that the binary has copies of, and std::nothrow.
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <streambuf>
#include <system_error>
#include <typeinfo>

struct Base {
  virtual ~Base() = default;
};
struct Left : virtual Base {};
struct Right : virtual Base {};
struct Both : Left, Right {};

struct Counter : std::streambuf {
  int count = 0;
  int overflow(int character) override { return count++, character; }
};

int main() {
  Both both;
  Base &base = both;
  std::cout << (dynamic_cast<Right *>(&base) != nullptr) << (typeid(base) == typeid(Both)) << typeid(base).name() << "\n";
  std::stringstream stream;
  std::ios &ios = stream;
  std::cout << (dynamic_cast<std::ostream *>(&ios) != nullptr) << (dynamic_cast<std::ofstream *>(&ios) != nullptr) << "\n";
  Counter counter;
  std::ostream(&counter) << "counted " << 42;
  std::cout << counter.count << "\n";
  std::unique_ptr<int[]> many(new (std::nothrow) int[10]());
  std::size_t size = static_cast<std::size_t>(-1) / 8;
  std::cout << many[9] << (::operator new(size, std::nothrow) == nullptr) << "\n";
  try {
    std::unique_ptr<char[]> tooMany(new char[size]);
  } catch (const std::bad_alloc &error) {
    std::cout << error.what() << "\n";
  }
  try {
    throw std::system_error(2, std::generic_category(), "open");
  } catch (const std::runtime_error &error) {
    std::cout << error.what() << "\n";
  }
  std::shared_ptr<Base> shared = std::make_shared<Both>();
  std::cout << shared.use_count() << (std::dynamic_pointer_cast<Left>(shared) != nullptr) << "\n";
}
