// Streams of every kind: newer static libraries bring only the functions that the objects behind them ask for.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

static FILE *temporary() { return fdopen(memfd_create("temporary", 0), "w+"); }

int main() {
  char line[100];
  std::printf("stdin %s", std::fgets(line, sizeof line, stdin));
  int character = std::getc(stdin);
  std::printf("character %c, rest %zu\n", character, std::fread(line, 1, sizeof line, stdin));
  FILE *file = temporary();
  std::fprintf(file, "first %d\nsecond\n", 1);
  std::rewind(file);
  while (std::fgets(line, sizeof line, file)) std::printf("file %s", line);
  std::ungetc('x', file);
  character = std::getc(file);
  std::printf("%c %ld\n", character, std::ftell(file));
  std::fclose(file);
  char text[] = "12 words";
  FILE *memory = fmemopen(text, std::strlen(text), "r");
  int number = 0;
  int scanned = std::fscanf(memory, "%d %99s", &number, line);
  std::printf("scanned %d, %d %s\n", scanned, number, line);
  std::fclose(memory);
  char *grown = nullptr;
  size_t size = 0;
  FILE *stream = open_memstream(&grown, &size);
  for (int count = 0; count < 1000; count++) std::fprintf(stream, "%d,", count);
  std::fclose(stream);
  std::printf("grown %zu %.10s\n", size, grown);
  std::free(grown);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  std::perror("stderr");
}
