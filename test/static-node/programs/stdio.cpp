// Streams of every kind: newer static libraries bring only the functions that the objects behind them ask for.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>

int main() {
  char line[100];
  std::printf("stdin %s", std::fgets(line, sizeof line, stdin));
  std::printf("character %c, rest %zu\n", std::getc(stdin), std::fread(line, 1, sizeof line, stdin));
  FILE *file = std::tmpfile();
  std::fprintf(file, "first %d\nsecond\n", 1);
  std::rewind(file);
  while (std::fgets(line, sizeof line, file)) std::printf("file %s", line);
  std::ungetc('x', file);
  std::printf("%c %ld\n", std::getc(file), std::ftell(file));
  std::fclose(file);
  char text[] = "12 words";
  FILE *memory = fmemopen(text, std::strlen(text), "r");
  int number = 0;
  std::printf("scanned %d, %d %s\n", std::fscanf(memory, "%d %99s", &number, line), number, line);
  std::fclose(memory);
  char *grown = nullptr;
  size_t size = 0;
  FILE *stream = open_memstream(&grown, &size);
  for (int count = 0; count < 1000; count++) std::fprintf(stream, "%d,", count);
  std::fclose(stream);
  std::printf("grown %zu %.10s\n", size, grown);
  std::free(grown);
  FILE *wide = std::tmpfile();
  std::fwprintf(wide, L"wide %d\n", 3);
  std::rewind(wide);
  wchar_t letters[20];
  std::fgetws(letters, 20, wide);
  std::printf("%ls", letters);
  std::fclose(wide);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  std::perror("stderr");
}
