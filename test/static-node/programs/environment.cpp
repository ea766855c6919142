// environ and its aliases are one object; what libc reads of the auxiliary vector and the time zone is there.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/auxv.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
  std::printf("%d %s\n", argc, argv[1]);
  std::printf("%s %d\n", getenv("WORD"), environ != nullptr && std::strstr(*environ, "=") != nullptr);
  setenv("ADDED", "later", 1);
  int found = 0;
  for (char **entry = environ; *entry; entry++) found += std::strcmp(*entry, "ADDED=later") == 0;
  std::printf("found %d page %ld\n", found, getauxval(AT_PAGESZ));
  setenv("TZ", "XYZ-3", 1);
  tzset();
  std::printf("%s %ld\n", tzname[0], timezone);
  optind = 1;
  opterr = 0;
  char *words[] = {argv[0], const_cast<char *>("-a"), const_cast<char *>("-bvalue"), const_cast<char *>("-?"), nullptr};
  for (int option; (option = getopt(4, words, "ab:")) != -1;) std::printf("%c %s\n", option, optarg ? optarg : "");
}
