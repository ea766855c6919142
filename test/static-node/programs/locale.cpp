// A facet is found by its id, of which there must be one.
#include <iostream>
#include <locale>
#include <sstream>

struct Thousands : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

int main() {
  std::locale grouped(std::locale::classic(), new Thousands);
  std::ostringstream out;
  out.imbue(grouped);
  out << 1234567;
  std::cout << out.str() << "\n";
  const auto &types = std::use_facet<std::ctype<char>>(grouped);
  std::cout << types.is(std::ctype_base::digit, '7') << types.toupper('q') << "\n";
  const auto &collate = std::use_facet<std::collate<char>>(std::locale());
  const std::string a = "a", b = "b";
  std::cout << collate.compare(a.data(), a.data() + 1, b.data(), b.data() + 1) << "\n";
  std::cout << std::has_facet<std::numpunct<wchar_t>>(grouped) << std::locale().name() << "\n";
}
