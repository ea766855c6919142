// The streams that are copied into the binary must be the ones of the library.
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

int main() {
  std::cout << std::hex << std::showbase << 255 << " " << std::dec << std::setw(6) << std::setfill('*') << 42 << "\n";
  std::cerr << "to cerr\n";
  std::clog << "to clog\n";
  std::wcout << L"wide\n";
  std::ostringstream out;
  out << 1.5 << ' ' << true << ' ' << std::boolalpha << true;
  std::istringstream in("12 34.5 word");
  int number;
  double real;
  std::string word;
  in >> number >> real >> word;
  std::cout << out.str() << " " << number + real << " " << word << "\n";
  std::string line;
  while (std::getline(std::cin, line)) std::cout << "read " << line << "\n";
  std::fprintf(stdout, "stdout %d\n", std::cout.good());
  std::fprintf(stderr, "stderr\n");
  std::ifstream missing("/nothing/here");
  std::cout << missing.is_open() << " " << std::cin.eof() << "\n";
  std::cout.exceptions(std::ios::badbit);
  try {
    std::cout.setstate(std::ios::badbit);
  } catch (const std::ios_base::failure &) {
    std::fputs("failure\n", stdout);
  }
}
