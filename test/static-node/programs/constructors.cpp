// Static constructors, in order, that use the libraries; destructors and atexit(3) in the reverse order.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

struct Named {
  const char *name;
  explicit Named(const char *name) : name(name) { std::cout << "made " << name << "\n"; }
  ~Named() { std::printf("gone %s\n", name); }
};

static Named first("first");
static std::map<std::string, int> table{{"a", 1}, {"b", 2}};
static Named second("second");
static std::string text = "text " + std::to_string(table.size());

__attribute__((constructor(200))) static void early() { std::puts("early constructor"); }
__attribute__((constructor)) static void plain() { std::puts("constructor"); }
__attribute__((destructor)) static void late() { std::puts("destructor"); }

static Named &local() {
  static Named named("local");
  return named;
}

int main() {
  std::atexit([] { std::puts("atexit"); });
  std::cout << text << " " << local().name << std::endl;
}
