/** Where the program begins, in place of glibc's `_start`, to which it goes on. */
export const startUpSymbol = 'start_up';

/** An entry of the table: address, length and advice, 64 bits each; an address of 0 ends it. */
export const adviceSize = 24;

/** Entries that the table has room for, with the one that ends it. */
export const mostAdvice = 1024;

/** Bytes that the word has room for, with the NUL at its end. */
export const wordSize = 32;

/** System calls on x86-64. */
const madvise = 28;
const exit_group = 231;

/**
 * Assembly of what runs before anything else.
 *
 * A program whose only argument is a certain word has nothing to do and ends at once, with exit code 0. The word stands
 * in a section of its own, which is empty after the link: then there is no such word.
 *
 * Every other start tells the kernel which pages of the file are needed, and that no others are to be read along
 * (madvise(2)). What it says stands in a table, which is empty after the link, too.
 *
 * Without it, each page that is not in memory is read with as much around it as the disk's `read_ahead_kb` says. That
 * is 128 on most machines, but 4,096 and more on some: then a start in a memory cgroup of 40 MB reads gigabytes.
 *
 * At entry the stack holds argc and argv, and rdx a function for atexit(3) (x86-64 psABI, "Process Initialization");
 * the kernel changes rcx and r11.
 */
export function startUp({
  word,
  table,
}: {
  readonly word: string;
  readonly table: string;
}): string {
  return `.section ${word},"a",@progbits
.Lword: .zero ${wordSize}
.section ${table},"a",@progbits
.balign 8
.Ladvice: .zero ${mostAdvice * adviceSize}
.text
.globl ${startUpSymbol}
.type ${startUpSymbol}, @function
${startUpSymbol}:
  cmpq $2, (%rsp)
  jne 4f
  movq 16(%rsp), %rsi
  leaq .Lword(%rip), %rdi
  cmpb $0, (%rdi)
  je 4f
3:
  movb (%rdi), %al
  cmpb %al, (%rsi)
  jne 4f
  incq %rdi
  incq %rsi
  testb %al, %al
  jnz 3b
  xorl %edi, %edi
  movl $${exit_group}, %eax
  syscall
4:
  movq %rdx, %r12
  leaq .Ladvice(%rip), %rbx
1:
  movq (%rbx), %rdi
  testq %rdi, %rdi
  jz 2f
  movq 8(%rbx), %rsi
  movq 16(%rbx), %rdx
  movl $${madvise}, %eax
  syscall
  addq $${adviceSize}, %rbx
  jmp 1b
2:
  movq %r12, %rdx
  jmp _start`;
}
